package io.sluice.systemtests;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A standalone Spark master with two workers that the scheduler takes for different hosts (127.0.0.2 and 127.0.0.3),
 * each a process of its own. {@code local-cluster} has one host only, where Spark never runs a speculative copy.
 */
final class StandaloneCluster implements AutoCloseable {
  private static final Duration LIMIT = Duration.ofSeconds(180);
  private static final String MASTER = "master";
  private static final Pattern LISTENING =
      Pattern.compile("Starting Spark master at (spark://127\\.0\\.0\\.1:\\d+)\\s");
  private static final List<String> WORKER_HOSTS = List.of("127.0.0.2", "127.0.0.3");

  private final List<Process> processes = new ArrayList<>();
  private final Path logs;
  private String masterUrl;

  private StandaloneCluster(Path logs) {
    this.logs = logs;
  }

  static StandaloneCluster start() throws IOException {
    Path logs = Files.createDirectories(SparkApplication.workDir().resolve("standalone"));
    StandaloneCluster cluster = new StandaloneCluster(logs);
    cluster.launch(MASTER, "127.0.0.1", "org.apache.spark.deploy.master.Master",
        "--host", "127.0.0.1", "--port", "0", "--webui-port", "0");
    Await.until(LIMIT, () -> "no master; its log is in " + logs, cluster::masterListens);
    for (String host : WORKER_HOSTS) {
      cluster.launch("worker-" + host, host, "org.apache.spark.deploy.worker.Worker",
          "--host", host, "--cores", "1", "--memory", "1g", "--webui-port", "0",
          "--work-dir", logs.resolve("work-" + host).toString(), cluster.masterUrl());
    }
    return cluster;
  }

  String masterUrl() {
    return masterUrl;
  }

  private void launch(String name, String host, String mainClass, String... arguments) throws IOException {
    List<String> command = new ArrayList<>(List.of(
        Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx256m",
        "-cp", System.getenv("SPARK_HOME") + "/jars/*", mainClass));
    command.addAll(List.of(arguments));
    ProcessBuilder builder = new ProcessBuilder(command)
        .redirectErrorStream(true)
        .redirectOutput(log(name).toFile());
    builder.environment().put("SPARK_LOCAL_IP", host);
    processes.add(builder.start());
  }

  private Path log(String name) {
    return logs.resolve(name + ".log");
  }

  /** The master listens on a free port, which it writes to its log. */
  private boolean masterListens() {
    try {
      Matcher listening = LISTENING.matcher(Files.readString(log(MASTER)));
      if (listening.find()) {
        masterUrl = listening.group(1);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return masterUrl != null;
  }

  @Override
  public void close() {
    for (Process process : processes) {
      process.descendants().forEach(ProcessHandle::destroyForcibly);
      process.destroyForcibly();
    }
    ShuffleFiles.deleteTree(logs);
  }
}
