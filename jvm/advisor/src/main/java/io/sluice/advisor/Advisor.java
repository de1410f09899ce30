package io.sluice.advisor;

import io.sluice.advisor.estimate.ApplicationEstimate;
import io.sluice.advisor.log.CleanText;
import io.sluice.advisor.log.EventLog;
import io.sluice.advisor.log.EventLogFiles;
import io.sluice.advisor.log.EventLogReader;
import io.sluice.advisor.log.UnreadableLogException;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Finds the logs, reads one after the other and estimates each application. One thread. */
final class Advisor {
  private static final int LONGEST_PROBLEM = 1_000;

  private final List<ApplicationEstimate> estimates = new ArrayList<>();
  private final List<String> problems = new ArrayList<>();
  private final List<String> skipped = new ArrayList<>();

  /** Reads all that {@code paths} name; progress goes to {@code err}. */
  void read(List<Path> paths, PrintStream err, boolean terminal) {
    List<EventLog> logs = new ArrayList<>();
    for (Path path : paths) {
      try {
        logs.addAll(EventLogFiles.at(path));
      } catch (UnreadableLogException e) {
        problem(problems, e);
      }
    }
    long bytes = logs.stream().mapToLong(Advisor::size).sum();
    try (Progress progress = new Progress(err, terminal, bytes, Progress.QUIET_NANOS)) {
      for (EventLog log : logs) {
        try {
          estimates.add(ApplicationEstimate.of(EventLogReader.read(log, progress)));
        } catch (UnreadableLogException e) {
          // A folder may have other files in it than logs.
          problem(log.named() ? problems : skipped, e);
        } catch (OutOfMemoryError e) {
          // What was kept of this log is unreachable by now; the reports of the others can be written.
          problems.add(CleanText.of(log.path() + ": " + HeapSpace.tooSmall("advise"), LONGEST_PROBLEM));
        }
      }
    }
  }

  private static void problem(List<String> into, UnreadableLogException e) {
    into.add(CleanText.of(e.getMessage(), LONGEST_PROBLEM));
  }

  private static long size(EventLog log) {
    long bytes = 0;
    for (Path file : log.files()) {
      try {
        bytes += Files.size(file);
      } catch (IOException e) {
        // Reading it will say why.
        bytes += 0;
      }
    }
    return bytes;
  }

  /** In the order in which the logs were named. */
  List<ApplicationEstimate> estimates() {
    return estimates;
  }

  /** Sentences about paths that the user named and that could not be read. */
  List<String> problems() {
    return problems;
  }

  /** Sentences about files of the user's folders that are no logs. */
  List<String> skipped() {
    return skipped;
  }
}
