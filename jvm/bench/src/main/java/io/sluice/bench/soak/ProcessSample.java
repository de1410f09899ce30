package io.sluice.bench.soak;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;

/**
 * What an application holds between programs.
 *
 * @param processes driver and executors
 * @param rssMib resident memory of all of them
 * @param descriptors open files of all of them
 * @param mappings memory mappings of all of them
 * @param files files below the application's folder
 * @param fileMib their bytes
 */
record ProcessSample(int processes, long rssMib, long descriptors, long mappings, long files, long fileMib) {

  static final String HEADER = "processes,rss_mib,descriptors,mappings,files,file_mib";

  private static final long MIB = 1024 * 1024;
  private static final int KIB_PER_MIB = 1024;

  /** A sample of {@code processes} and of {@code folder}. */
  static ProcessSample of(List<ProcessHandle> processes, Path folder) {
    long rss = 0;
    long descriptors = 0;
    long mappings = 0;
    for (ProcessHandle process : processes) {
      Path proc = Path.of("/proc", Long.toString(process.pid()));
      rss += residentMib(proc);
      descriptors += count(proc.resolve("fd"));
      mappings += lines(proc.resolve("maps"));
    }
    long files = 0;
    long bytes = 0;
    try (Stream<Path> paths = Files.walk(folder)) {
      for (Path path : paths.filter(Files::isRegularFile).toList()) {
        files++;
        bytes += Files.size(path);
      }
    } catch (IOException | UncheckedIOException e) {
      // Files come and go while they are listed: the sample has those that were seen.
      files++;
    }
    return new ProcessSample(processes.size(), rss, descriptors, mappings, files, bytes / MIB);
  }

  /** The figures, in the order of {@link #HEADER}. */
  String csv() {
    return String.format(Locale.ROOT, "%d,%d,%d,%d,%d,%d", processes, rssMib, descriptors, mappings, files, fileMib);
  }

  private static long residentMib(Path proc) {
    try {
      return Files.readAllLines(proc.resolve("status")).stream().filter(line -> line.startsWith("VmRSS:"))
          .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", ""))).sum() / KIB_PER_MIB;
    } catch (IOException e) {
      // The process has ended.
      return 0;
    }
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
