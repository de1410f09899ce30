package io.sluice.bench.soak;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.Stream;

/**
 * What a process holds between programs.
 *
 * @param rssMib resident memory
 * @param pinnedKib memory that it has locked, or registered with a device
 * @param threads of it
 * @param descriptors open files
 * @param mappings memory mappings
 */
record ProcessSample(long rssMib, long pinnedKib, long threads, long descriptors, long mappings) {

  private static final int KIB_PER_MIB = 1024;

  /** A sample of {@code process}; zeros if it has ended. */
  static ProcessSample of(ProcessHandle process) {
    Path proc = Path.of("/proc", Long.toString(process.pid()));
    Map<String, Long> status = status(proc.resolve("status"));
    return new ProcessSample(status.getOrDefault("VmRSS", 0L) / KIB_PER_MIB,
        status.getOrDefault("VmLck", 0L) + status.getOrDefault("VmPin", 0L), status.getOrDefault("Threads", 0L),
        count(proc.resolve("fd")), lines(proc.resolve("maps")));
  }

  /** The numbers of such a file by their names. */
  private static Map<String, Long> status(Path file) {
    Map<String, Long> numbers = new HashMap<>();
    try {
      for (String line : Files.readAllLines(file)) {
        int colon = line.indexOf(':');
        String digits = line.substring(colon + 1).replaceAll("\\D", "");
        if (line.startsWith("Vm") || line.startsWith("Threads")) {
          numbers.put(line.substring(0, colon), Long.parseLong(digits));
        }
      }
    } catch (IOException e) {
      // The process has ended.
      return Map.of();
    }
    return numbers;
  }

  private static long lines(Path file) {
    try (Stream<String> lines = Files.lines(file)) {
      return lines.count();
    } catch (IOException | UncheckedIOException e) {
      // The process has ended.
      return 0;
    }
  }

  private static long count(Path folder) {
    try (Stream<Path> entries = Files.list(folder)) {
      return entries.count();
    } catch (IOException | UncheckedIOException e) {
      // The process has ended.
      return 0;
    }
  }
}
