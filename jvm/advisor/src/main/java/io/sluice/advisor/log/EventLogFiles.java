package io.sluice.advisor.log;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Finds the logs below the paths that a user names. A rolling log is a folder {@code eventlog_v2_<application>} with
 * files {@code events_<number>_<application>}; a file that ends with {@code .compact} holds what is left of all files
 * up to its number (Spark's {@code RollingEventLogFilesWriter} and {@code EventLogFileCompactor}).
 */
public final class EventLogFiles {
  private static final Pattern EVENTS = Pattern.compile("events_(\\d{1,18})_.*");
  private static final String ROLLING = "eventlog_v2_";
  private static final String COMPACT = ".compact";

  private EventLogFiles() {}

  /**
   * The logs at {@code path}: itself, or all in the folder that it is.
   *
   * @throws UnreadableLogException if there is nothing, or nothing that could be a log
   */
  public static List<EventLog> at(Path path) throws UnreadableLogException {
    try {
      if (Files.isRegularFile(path)) {
        return List.of(new EventLog(path, List.of(path), true));
      }
      if (!Files.isDirectory(path)) {
        throw new UnreadableLogException(
            path + (Files.exists(path) ? ": neither a file nor a folder" : ": there is no such file"));
      }
      return isRolling(path) ? List.of(rolling(path, true)) : inFolder(path);
    } catch (IOException | RuntimeException e) {
      throw new UnreadableLogException(path + ": cannot be read: " + e);
    }
  }

  private static List<EventLog> inFolder(Path folder) throws IOException, UnreadableLogException {
    List<EventLog> logs = new ArrayList<>();
    for (Path child : children(folder)) {
      if (Files.isDirectory(child) && isRolling(child)) {
        logs.add(rolling(child, false));
      } else if (Files.isRegularFile(child)) {
        logs.add(new EventLog(child, List.of(child), false));
      }
    }
    if (logs.isEmpty()) {
      throw new UnreadableLogException(folder + ": the folder has no event log in it");
    }
    return logs;
  }

  private static boolean isRolling(Path folder) throws IOException {
    return folder.toAbsolutePath().normalize().getFileName() != null
        && (folder.toAbsolutePath().normalize().getFileName().toString().startsWith(ROLLING)
            || children(folder).stream().anyMatch(file -> number(file) >= 0));
  }

  private static EventLog rolling(Path folder, boolean named) throws IOException, UnreadableLogException {
    List<Path> events = children(folder).stream().filter(file -> number(file) >= 0 && Files.isRegularFile(file))
        .sorted(Comparator.comparingLong(EventLogFiles::number).thenComparing(Path::compareTo))
        .collect(Collectors.toList());
    long compacted = events.stream().filter(EventLogFiles::isCompact).mapToLong(EventLogFiles::number).max().orElse(-1);
    List<Path> files = events.stream()
        .filter(file -> number(file) > compacted || number(file) == compacted && isCompact(file))
        .collect(Collectors.toList());
    if (files.isEmpty()) {
      throw new UnreadableLogException(folder + ": the folder of a rolling log has no file of events");
    }
    return new EventLog(folder, List.copyOf(files), named);
  }

  /** By name, without hidden files, among which are Hadoop's checksums. */
  private static List<Path> children(Path folder) throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return files.filter(file -> !file.getFileName().toString().startsWith(".")).sorted()
          .collect(Collectors.toList());
    }
  }

  private static boolean isCompact(Path file) {
    return file.getFileName().toString().endsWith(COMPACT);
  }

  /** The number of a file of events; -1 for other files. */
  private static long number(Path file) {
    Matcher matcher = EVENTS.matcher(file.getFileName().toString());
    return matcher.matches() ? Long.parseLong(matcher.group(1)) : -1;
  }
}
