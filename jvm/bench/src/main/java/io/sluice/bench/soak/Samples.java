package io.sluice.bench.soak;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;

/**
 * Writes what applications hold between programs into a CSV file: a line for every process, and one for the files of
 * the application, in which the figures of processes are empty.
 */
final class Samples implements AutoCloseable {

  static final String HEADER = "second,application,engine,program,process,rss_mib,pinned_kib,threads,descriptors,"
      + "mappings,files,file_mib";
  /** What stands for a process in the line of the files. */
  static final String FOLDER = "folder";

  private static final long MIB = 1024 * 1024;

  private final PrintWriter out;

  Samples(Path file) throws IOException {
    this.out = new PrintWriter(Files.newBufferedWriter(file));
    out.println(HEADER);
  }

  /**
   * Adds a sample.
   *
   * @param when second, number of the application, engine and number of the program, with commas between them
   * @param processes the driver, then executors
   * @param folder where the application has its files
   */
  void add(String when, List<ProcessHandle> processes, Path folder) {
    List<ProcessHandle> executors = processes.stream().skip(1).sorted(Comparator.comparing(ProcessHandle::pid))
        .toList();
    write(when, "driver", processes.get(0));
    executors.forEach(executor -> write(when, "executor-" + executor.pid(), executor));
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
    out.printf(Locale.ROOT, "%s,%s,,,,,,%d,%d%n", when, FOLDER, files, bytes / MIB);
    out.flush();
  }

  private void write(String when, String name, ProcessHandle process) {
    ProcessSample sample = ProcessSample.of(process);
    out.printf(Locale.ROOT, "%s,%s,%d,%d,%d,%d,%d,,%n", when, name, sample.rssMib(), sample.pinnedKib(),
        sample.threads(), sample.descriptors(), sample.mappings());
  }

  @Override
  public void close() {
    out.close();
  }
}
