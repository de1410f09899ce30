package io.sluice.advisor;

import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The parsed command line.
 *
 * @param html where the page goes; null for none, as the next two
 * @param json where the JSON goes
 * @param measured results of {@code ./sluice bench --json} to compare with
 * @param logs files and folders, at least one unless {@code help}
 */
record Options(boolean help, Path html, Path json, Path measured, List<Path> logs) {
  static final String HELP = """
      usage: java -jar JAR advise [OPTIONS] LOG…      (in a checkout: ./sluice advise [OPTIONS] LOG…)

      Reads event logs of Spark 3.x and 4.x (spark.eventLog.enabled=true) and says, for each
      application, stage and shuffle, what Sluice would save, how sure that is, and what would not
      gain. The applications need not have run on Sluice.

      LOG is an event log: a file, the folder of a rolling log (eventlog_v2_…), or a folder with
      logs in it. Logs may be compressed (zstd, lz4, snappy, lzf, gzip), of any size, cut off, or of
      an application that still runs. They must be files of this machine: copy them from HDFS or
      object stores first.

        --html FILE       the report as a page to read and to send
        --json FILE       the report as JSON, with every stage and shuffle
        --measured FILE   for Sluice's own benchmarks: FILE is what ./sluice bench --json wrote, and
                          LOG… what its --event-logs wrote; prints predictions beside measurements
        --help            this text

      Exit code: 0 every log could be read, 1 one could not, 2 wrong arguments.
      """;

  /** @throws IllegalArgumentException saying which argument is wrong */
  static Options parse(List<String> arguments) {
    boolean help = false;
    Path html = null;
    Path json = null;
    Path measured = null;
    List<Path> logs = new ArrayList<>();
    Iterator<String> rest = separated(arguments).iterator();
    while (rest.hasNext()) {
      String argument = rest.next();
      switch (argument) {
        case "--help", "-h" -> help = true;
        case "--html" -> html = value(argument, rest);
        case "--json" -> json = value(argument, rest);
        case "--measured" -> measured = value(argument, rest);
        case "--" -> rest.forEachRemaining(log -> logs.add(path(log)));
        default -> {
          if (argument.startsWith("-")) {
            throw new IllegalArgumentException("unknown argument " + argument);
          }
          logs.add(path(argument));
        }
      }
    }
    if (logs.isEmpty() && !help) {
      throw new IllegalArgumentException("no event log is named");
    }
    return new Options(help, html, json, measured, List.copyOf(logs));
  }

  /** {@code --option=value} is {@code --option value}. */
  private static List<String> separated(List<String> arguments) {
    return arguments.stream().flatMap(argument -> argument.startsWith("--") && argument.contains("=")
        ? Arrays.stream(argument.split("=", 2)) : Stream.of(argument)).collect(Collectors.toList());
  }

  private static Path value(String option, Iterator<String> rest) {
    String value = rest.hasNext() ? rest.next() : "";
    if (value.isEmpty()) {
      throw new IllegalArgumentException(option + " needs a file");
    }
    return path(value);
  }

  private static Path path(String text) {
    try {
      if (text.matches("[a-z0-9]{2,}://.*")) {
        throw new IllegalArgumentException(text + " is not on this machine; copy it here first");
      }
      return Paths.get(text.startsWith("file:/") ? text.substring("file:".length()) : text);
    } catch (InvalidPathException e) {
      throw new IllegalArgumentException("not the name of a file: " + e.getMessage(), e);
    }
  }
}
