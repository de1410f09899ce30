package io.sluice;

import io.sluice.advisor.HeapSpace;
import io.sluice.advisor.Progress;
import io.sluice.advisor.Terminal;
import io.sluice.advisor.log.EventLog;
import io.sluice.advisor.log.EventLogFiles;
import io.sluice.advisor.log.EventLogLines;
import io.sluice.advisor.log.UnreadableLogException;
import io.sluice.spark.ui.LogReport;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;

/** {@code java -jar JAR report LOG…}: one page of what Sluice did for the applications of event logs. */
public final class LogReports {
  private static final String HELP = "usage: java -jar JAR report LOG... [-o FILE]\n"
      + "       python -m sluice_spark report LOG... [-o FILE]      (in a checkout: ./sluice report)\n\n"
      + "Makes one HTML page of what Sluice did for applications, from event logs of Spark: files, folders of rolling\n"
      + "logs, or folders with logs in them. Of applications without Sluice it says so; java -jar JAR advise says\n"
      + "what it would save. The jar needs Spark's classes for it: set SPARK_HOME, or start io.sluice.Main\n"
      + "with the jar and Spark's jars on -cp.\n\n"
      + "  -o, --output FILE   where the page goes; default: report.html\n";
  private static final int UNREADABLE = 1;
  private static final int WRONG_ARGUMENTS = 2;

  private final PrintStream err;
  private final StringBuilder applications = new StringBuilder();
  private final List<String> problems = new ArrayList<>();
  private int read;

  private LogReports(PrintStream err) {
    this.err = err;
  }

  /** Exits with 0, 1 if a log could not be read or the page not be written, 2 for wrong arguments. */
  public static void main(String[] arguments) throws IOException {
    PrintStream err = new PrintStream(System.err, true, StandardCharsets.UTF_8.name());
    List<Path> logs = new ArrayList<>();
    Path output = Paths.get("report.html");
    for (int i = 0; i < arguments.length; i++) {
      if (arguments[i].equals("--help") || arguments[i].equals("-h")) {
        System.out.print(HELP);
        System.exit(0);
      } else if (arguments[i].equals("-o") || arguments[i].equals("--output")) {
        i++;
        output = i < arguments.length ? Paths.get(arguments[i]) : null;
      } else if (arguments[i].startsWith("-")) {
        err.println("error: unknown option " + arguments[i] + " (--help shows what there is)");
        System.exit(WRONG_ARGUMENTS);
      } else {
        logs.add(Paths.get(arguments[i]));
      }
    }
    if (output == null || logs.isEmpty()) {
      err.println(logs.isEmpty() ? "error: no log is named (--help shows what there is)" : "error: -o needs a file");
      System.exit(WRONG_ARGUMENTS);
    }
    System.exit(new LogReports(err).make(logs, output));
  }

  private int make(List<Path> paths, Path output) {
    List<EventLog> logs = new ArrayList<>();
    for (Path path : paths) {
      try {
        logs.addAll(EventLogFiles.at(path));
      } catch (UnreadableLogException e) {
        problems.add(e.getMessage());
      }
    }
    long bytes = logs.stream().flatMap(log -> log.files().stream()).mapToLong(file -> file.toFile().length()).sum();
    try (Progress progress = new Progress(err, Terminal.isStandardError(), bytes, Progress.QUIET_NANOS)) {
      logs.forEach(log -> read(log, progress));
    }
    problems.forEach(problem -> err.println("error: " + problem));
    if (read == 0) {
      return UNREADABLE;
    }
    try {
      Files.write(output, page().getBytes(StandardCharsets.UTF_8));
      err.println("Wrote " + output);
    } catch (IOException e) {
      err.println("error: " + output + " cannot be written: " + e);
      return UNREADABLE;
    } catch (OutOfMemoryError e) {
      err.println("error: the page cannot be made: " + HeapSpace.tooSmall("report"));
      return UNREADABLE;
    }
    return problems.isEmpty() ? 0 : UNREADABLE;
  }

  private void read(EventLog log, Progress progress) {
    LogReport report = new LogReport();
    EventLogLines[] lines = new EventLogLines[1];
    lines[0] = new EventLogLines(LogReport::wants, line -> {
      try {
        report.take(line);
      } catch (RuntimeException e) {
        // A line that is no JSON, or an event of another version.
        lines[0].skipped();
      }
    });
    try {
      String fault = lines[0].read(log, progress);
      applications.append(report.html(log.path().toString(), fault));
      read++;
    } catch (UnreadableLogException e) {
      problems.add(e.getMessage());
    } catch (OutOfMemoryError e) {
      // What was kept of this log is unreachable by now; the page of the others can be written.
      problems.add(log.path() + ": " + HeapSpace.tooSmall("report"));
    }
  }

  private String page() throws IOException {
    return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        + "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        + "<title>What Sluice did</title>\n<style>\n" + style()
        + "</style>\n</head>\n<body>\n<h1>What Sluice did</h1>\n"
        + "<p>Sluice is a shuffle for Apache Spark. A shuffle is what Spark does between the stages of a job: map "
        + "tasks sort rows by partition and write them to files, and reduce tasks fetch their parts from all machines "
        + "and read them. Sluice does the same with less processor time and fewer bytes. This page says, from the "
        + "event logs that Spark wrote, what it did for each application, what that saved, and what kept it from "
        + "saving more.</p>\n"
        + "<p class=\"weak\">A frame is a batch of encoded rows; a block is all frames that one map task wrote for one "
        + "reduce task. A shuffle that goes Spark's way is written and read by Spark's own sort shuffle.</p>\n"
        + applications + "</body>\n</html>\n";
  }

  private static String style() throws IOException {
    try (InputStream in = LogReport.class.getResourceAsStream("log-report.css")) {
      ByteArrayOutputStream bytes = new ByteArrayOutputStream();
      byte[] chunk = new byte[4096];
      for (int count = in.read(chunk); count >= 0; count = in.read(chunk)) {
        bytes.write(chunk, 0, count);
      }
      return bytes.toString(StandardCharsets.UTF_8.name());
    }
  }
}
