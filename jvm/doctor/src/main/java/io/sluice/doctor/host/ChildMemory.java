package io.sluice.doctor.host;

import io.sluice.doctor.host.MemoryTrial.Result;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Reads a few bytes of a child process through {@code /proc/PID/mem}. The kernel asks the same question before it opens
 * that file as before {@code process_vm_readv} (ptrace access, {@code PTRACE_MODE_ATTACH}), so this tells about CMA
 * without native code. What it cannot tell: a seccomp filter looks at the system call's number, and Yama's scope 1 lets
 * a parent read its child when it would not let two executors read each other.
 */
final class ChildMemory {
  private static final String WHAT = "read 8 bytes of a child process through /proc/PID/mem";

  private ChildMemory() {}

  static MemoryTrial read() {
    Process child;
    try {
      child = new ProcessBuilder("sleep", "30").start();
    } catch (IOException e) {
      return new MemoryTrial(Result.NOT_TRIED, "no child process to try it on: sleep cannot be started");
    }
    try {
      return readFrom(Path.of("/proc", Long.toString(child.pid())));
    } finally {
      child.destroyForcibly();
    }
  }

  private static MemoryTrial readFrom(Path process) {
    try {
      Optional<Long> address = readableAddress(process);
      if (address.isEmpty()) {
        return new MemoryTrial(Result.NOT_TRIED, "a child process shows no memory that can be read");
      }
      return readAt(process, address.get());
    } catch (AccessDeniedException e) {
      return new MemoryTrial(Result.REFUSED, WHAT + ": refused");
    } catch (IOException | RuntimeException e) {
      return new MemoryTrial(Result.NOT_TRIED, "a child process cannot be looked at: " + e.getMessage());
    }
  }

  /** The start of the first mapping that the child itself can read. */
  private static Optional<Long> readableAddress(Path process) throws IOException {
    try (Stream<String> mappings = Files.lines(process.resolve("maps"))) {
      return mappings.filter(line -> line.contains(" r")).findFirst()
          .map(line -> Long.parseLong(line.substring(0, line.indexOf('-')), 16));
    }
  }

  private static MemoryTrial readAt(Path process, long address) {
    try (RandomAccessFile memory = new RandomAccessFile(process.resolve("mem").toFile(), "r")) {
      memory.seek(address);
      memory.readLong();
      return new MemoryTrial(Result.PERMITTED, WHAT);
    } catch (IOException e) {
      return new MemoryTrial(Result.REFUSED, WHAT + ": " + e.getMessage());
    }
  }
}
