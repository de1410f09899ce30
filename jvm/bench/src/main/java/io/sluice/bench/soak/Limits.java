package io.sluice.bench.soak;

import io.sluice.bench.soak.Fault.Target;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.stream.Stream;

/** Faults that take a resource from an executor by its limits, and give it back. */
final class Limits {

  static final Limit FILES = new Limit("Max open files", "--nofile=");
  static final Limit FILE_SIZE = new Limit("Max file size", "--fsize=");
  static final Limit PINNED = new Limit("Max locked memory", "--memlock=");
  private static final Limit ADDRESS_SPACE = new Limit("Max address space", "--as=");

  private static final long KIB = 1024;

  private Limits() {}

  /**
   * A limit of the system.
   *
   * @param row how its row in /proc/PID/limits begins
   * @param option prlimit's
   */
  record Limit(String row, String option) {

    /** What holds for the process now, as prlimit takes it; empty if the process has ended. */
    Optional<String> soft(long pid) {
      try (Stream<String> limits = Files.lines(Path.of("/proc", Long.toString(pid), "limits"))) {
        return limits.filter(line -> line.startsWith(row))
            .map(line -> line.substring(row.length()).strip().split("\\s+")[0]).findFirst();
      } catch (IOException | UncheckedIOException e) {
        // The process has ended.
        return Optional.empty();
      }
    }

    private void set(ProcessHandle executor, String soft) throws InterruptedException {
      Command.run(executor, "prlimit", "--pid", Long.toString(executor.pid()), option + soft + ":");
    }
  }

  static boolean lower(Target target, Dice dice, Limit limit, long soft) throws InterruptedException {
    boolean lowered = false;
    for (ProcessHandle executor : dice.some(1, target.executors())) {
      lowered |= lower(executor, dice, limit, soft);
    }
    return lowered;
  }

  /** The address space that the executor has now is all that it may have. */
  static boolean refuseMemory(Target target, Dice dice) throws InterruptedException {
    boolean refused = false;
    for (ProcessHandle executor : dice.some(1, target.executors())) {
      Optional<Long> kib = addressSpaceKib(executor.pid());
      refused |= kib.isPresent() && lower(executor, dice, ADDRESS_SPACE, kib.get() * KIB);
    }
    return refused;
  }

  private static boolean lower(ProcessHandle executor, Dice dice, Limit limit, long soft) throws InterruptedException {
    Optional<String> before = limit.soft(executor.pid());
    if (before.isPresent()) {
      try {
        limit.set(executor, Long.toString(soft));
        Thread.sleep(dice.between(100, 1_500));
      } finally {
        limit.set(executor, before.get());
      }
    }
    return before.isPresent();
  }

  private static Optional<Long> addressSpaceKib(long pid) {
    try (Stream<String> lines = Files.lines(Path.of("/proc", Long.toString(pid), "status"))) {
      return lines.filter(line -> line.startsWith("VmSize:")).map(line -> Long.valueOf(line.replaceAll("\\D", "")))
          .findFirst();
    } catch (IOException | UncheckedIOException e) {
      // The process has ended.
      return Optional.empty();
    }
  }
}
