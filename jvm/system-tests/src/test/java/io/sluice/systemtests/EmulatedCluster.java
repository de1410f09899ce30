package io.sluice.systemtests;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * {@code ./sluice cluster}: a standalone cluster whose hosts are network namespaces of this machine, so that links can
 * be made slow or cut. This process runs on none of the hosts; {@link #start} starts a program on the driver's host.
 */
final class EmulatedCluster implements AutoCloseable {
  private static final Path SCRIPT = Path.of("../../sluice").toAbsolutePath().normalize();
  private static final String NAME = "systemtests";
  private static final long LIMIT_SECONDS = 180;

  private EmulatedCluster() {}

  /** Why this machine cannot run an emulated cluster; empty if it can. */
  static String obstacle() throws IOException {
    Call check = Call.of("check");
    return check.status == 0 ? "" : check.output;
  }

  /** Starts one with the arguments of {@code ./sluice cluster up}, on the Spark of {@code SPARK_HOME}. */
  static EmulatedCluster up(String... arguments) throws IOException {
    List<String> all = new ArrayList<>(List.of("--spark", System.getenv("SPARK_HOME"),
        "--owner", Long.toString(ProcessHandle.current().pid())));
    all.addAll(List.of(arguments));
    Call.of("up", all.toArray(String[]::new)).succeeded();
    return new EmulatedCluster();
  }

  /** Changes a host's link: {@code w1 down}, {@code w1 loss 5%}. */
  void link(String host, String... change) throws IOException {
    List<String> all = new ArrayList<>(List.of(host));
    all.addAll(List.of(change));
    Call.of("link", all.toArray(String[]::new)).succeeded();
  }

  /** Starts the program {@code main} of the tests on the driver's host; its messages are in {@code log}. */
  Program start(Class<?> main, Path log, String... arguments) throws IOException {
    List<String> command = new ArrayList<>(List.of(SCRIPT.toString(), "cluster", "run", "--name", NAME, "--",
        Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx512m"));
    ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
        .filter(argument -> argument.startsWith("--add-opens")).forEach(command::add);
    for (String property : List.of("sluice.manager", "systemtests.workDir", "log4j2.configurationFile")) {
      command.add("-D" + property + "=" + System.getProperty(property));
    }
    command.addAll(
        List.of("-Dlog4j2.logFile=" + log + ".spark", "-cp", System.getProperty("java.class.path"), main.getName()));
    command.addAll(List.of(arguments));
    return Program.start(new ProcessBuilder(command).redirectError(log.toFile()), log);
  }

  @Override
  public void close() throws IOException {
    Call.of("down").succeeded();
  }

  /** A call of the script that has ended. */
  private record Call(List<String> command, int status, String output) {

    static Call of(String verb, String... arguments) throws IOException {
      List<String> command = new ArrayList<>(List.of(SCRIPT.toString(), "cluster", verb, "--name", NAME));
      command.addAll(List.of(arguments));
      Path output = Files.createTempFile(SparkApplication.workDir(), "cluster-", ".txt");
      try {
        Process process =
            new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile()).start();
        if (!process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)) {
          process.destroy();
          throw new IOException(command + " has not ended in " + LIMIT_SECONDS + " s");
        }
        return new Call(command, process.exitValue(), Files.readString(output, StandardCharsets.UTF_8).strip());
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new IOException("interrupted while running " + command, e);
      } finally {
        Files.delete(output);
      }
    }

    void succeeded() throws IOException {
      if (status != 0) {
        throw new IOException(command + " failed: " + output);
      }
    }
  }
}
