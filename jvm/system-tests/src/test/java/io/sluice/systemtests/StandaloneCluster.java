package io.sluice.systemtests;

import java.io.File;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * A standalone Spark master with two workers that are different hosts to the scheduler (127.0.0.2 and
 * 127.0.0.3), each a process of its own. {@code local-cluster} has one host only, where Spark never runs a
 * speculative copy.
 */
final class StandaloneCluster implements AutoCloseable {
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final List<String> WORKER_HOSTS = List.of("127.0.0.2", "127.0.0.3");

  private final List<Process> processes = new ArrayList<>();
  private final Path logs;
  private final int port;

  private StandaloneCluster(Path logs, int port) {
    this.logs = logs;
    this.port = port;
  }

  static StandaloneCluster start() throws IOException {
    Path logs = Files.createDirectories(SparkApplication.workDir().resolve("standalone"));
    StandaloneCluster cluster = new StandaloneCluster(logs, freePort());
    cluster.launch("master", "127.0.0.1", "org.apache.spark.deploy.master.Master",
        "--host", "127.0.0.1", "--port", Integer.toString(cluster.port), "--webui-port", "0");
    Await.until(LIMIT, () -> "no master; its log is in " + logs, cluster::masterListens);
    for (String host : WORKER_HOSTS) {
      cluster.launch("worker-" + host, host, "org.apache.spark.deploy.worker.Worker",
          "--host", host, "--cores", "1", "--memory", "1g", "--webui-port", "0",
          "--work-dir", logs.resolve("work-" + host).toString(), cluster.masterUrl());
    }
    return cluster;
  }

  String masterUrl() {
    return "spark://127.0.0.1:" + port;
  }

  private void launch(String name, String host, String mainClass, String... arguments) throws IOException {
    List<String> command = new ArrayList<>(List.of(
        Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx256m",
        "-cp", System.getenv("SPARK_HOME") + "/jars/*", mainClass));
    command.addAll(List.of(arguments));
    ProcessBuilder builder = new ProcessBuilder(command)
        .redirectErrorStream(true)
        .redirectOutput(new File(logs.toFile(), name + ".log"));
    builder.environment().put("SPARK_LOCAL_IP", host);
    processes.add(builder.start());
  }

  private boolean masterListens() {
    try (Socket socket = new Socket()) {
      socket.connect(new InetSocketAddress("127.0.0.1", port), 500);
      return true;
    } catch (IOException e) {
      return false;
    }
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
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
