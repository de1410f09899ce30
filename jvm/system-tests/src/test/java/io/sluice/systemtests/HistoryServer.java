package io.sluice.systemtests;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Spark's History Server on a free port, in a process of its own. */
final class HistoryServer implements AutoCloseable {
  private static final Duration LIMIT = Duration.ofSeconds(120);
  private static final Pattern STARTED = Pattern.compile("started at http://[^:\\s]+:(\\d+)");

  private final Process process;
  private final Path log;
  private int port;

  private HistoryServer(Process process, Path log) {
    this.process = process;
    this.log = log;
  }

  /**
   * Starts it.
   *
   * @param eventLogs the folder of the applications' event logs
   * @param jar what stands before Spark's jars on the class path; empty for nothing
   * @param log where its output goes
   */
  static HistoryServer start(Path eventLogs, String jar, Path log) throws IOException {
    return start(eventLogs, jar, log, Collections.emptyMap());
  }

  /** … with settings of its own. */
  static HistoryServer start(Path eventLogs, String jar, Path log, Map<String, String> settings) throws IOException {
    String classPath = (jar.isEmpty() ? "" : jar + ":") + System.getenv("SPARK_HOME") + "/jars/*";
    List<String> command = new ArrayList<>(Arrays.asList(JavaUnderTest.command(), "-Xmx512m",
        "-Dspark.history.fs.logDirectory=" + eventLogs.toUri(), "-Dspark.history.ui.port=0",
        "-Dspark.history.fs.update.interval=1s"));
    settings.forEach((key, value) -> command.add("-D" + key + "=" + value));
    command.addAll(Arrays.asList("-cp", classPath, "org.apache.spark.deploy.history.HistoryServer"));
    ProcessBuilder builder =
        new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile());
    builder.environment().put("SPARK_LOCAL_IP", "127.0.0.1");
    HistoryServer server = new HistoryServer(builder.start(), log);
    try {
      Await.until(LIMIT, () -> "no History Server; its log is " + log, server::listens);
    } catch (AssertionError e) {
      server.close();
      throw e;
    }
    return server;
  }

  private boolean listens() {
    Matcher started = STARTED.matcher(output());
    if (started.find()) {
      port = Integer.parseInt(started.group(1));
    }
    return port != 0;
  }

  /**
   * The start of the addresses of an application's pages, when the server has listed it. The pages are not asked for
   * before: from 4.1 on, a server which is asked for an application that it has not listed yet makes up an entry for
   * it and deletes that again, also when its scan has put the real one in its place, which then never comes back.
   */
  String awaitUiOf(String applicationId) {
    String server = "http://127.0.0.1:" + port;
    String entry = "\"id\" : \"" + applicationId + "\"";
    Await.until(LIMIT, () -> applicationId + " is not listed; the History Server printed " + output(), () -> {
      try {
        return WebPage.get(server + "/api/v1/applications").contains(entry);
      } catch (IOException notYet) {
        return false;
      }
    });
    return server + "/history/" + applicationId;
  }

  String output() {
    try {
      return new String(Files.readAllBytes(log));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }
}
