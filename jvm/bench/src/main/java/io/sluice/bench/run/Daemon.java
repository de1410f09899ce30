package io.sluice.bench.run;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * A process of another project that serves one application, for example a worker of a shuffle service. Its standard
 * input ends with this process, and it ends with that.
 */
final class Daemon implements AutoCloseable {

  private static final long STOP_SECONDS = 10;
  private static final long POLL_MS = 50;

  private final String name;
  private final Path log;
  private final Process process;

  private Daemon(String name, Path log, Process process) {
    this.name = name;
    this.log = log;
    this.process = process;
  }

  /**
   * What to start.
   *
   * @param name for messages
   * @param javaOptions memory and the like
   * @param classPath of the program; its own jars
   * @param mainClass of the program
   * @param arguments of that class
   */
  record Program(String name, List<String> javaOptions, List<Path> classPath, String mainClass,
      List<String> arguments) {}

  /**
   * Starts {@code program} in {@code folder}, in which its log and its configuration of logging are, too.
   *
   * @param prefix what goes in front of the command line
   * @param benchJar which has the class that ends the process
   */
  static Daemon start(Program program, Path folder, List<String> prefix, Path benchJar,
      Map<String, String> environment) {
    Path log = folder.resolve(program.name + ".log");
    List<String> command = new ArrayList<>(prefix);
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(JavaModules.options());
    command.addAll(program.javaOptions);
    command.add("-Dlog4j2.configurationFile=" + logging(folder).toUri());
    command.addAll(List.of("-cp", String.join(":",
        program.classPath.stream().map(Path::toString).toList()) + ":" + benchJar));
    command.addAll(List.of("io.sluice.bench.driver.DaemonMain", program.mainClass));
    command.addAll(program.arguments);
    ProcessBuilder builder = new ProcessBuilder(command).directory(folder.toFile());
    // An installation of the user must not affect the measurement.
    builder.environment().keySet().removeIf(name -> name.startsWith("CELEBORN_") || name.startsWith("RSS_"));
    builder.environment().putAll(environment);
    try {
      return new Daemon(program.name, log,
          builder.redirectErrorStream(true).redirectOutput(log.toFile()).start());
    } catch (IOException e) {
      throw new UncheckedIOException(program.name + " cannot be started: " + command, e);
    }
  }

  /** Messages of the level that tells when a program is ready, to standard output. */
  private static Path logging(Path folder) {
    Path file = folder.resolve("log4j2.properties");
    try {
      return Files.writeString(file, """
          appenders = console
          appender.console.type = Console
          appender.console.name = console
          appender.console.layout.type = PatternLayout
          appender.console.layout.pattern = %d{HH:mm:ss.SSS} %p %c{1}: %m%n%ex
          rootLogger.level = info
          rootLogger.appenderRefs = console
          rootLogger.appenderRef.console.ref = console
          """);
    } catch (IOException e) {
      throw new UncheckedIOException(file + " cannot be written", e);
    }
  }

  ProcessHandle process() {
    return process.toHandle();
  }

  /**
   * Waits until its log has {@code text}.
   *
   * @throws EngineFailure if that does not happen within {@code limit}, or it ends before
   */
  void awaitLog(String text, Duration limit) {
    long end = System.nanoTime() + limit.toNanos();
    try {
      while (!Files.readString(log, StandardCharsets.ISO_8859_1).contains(text)) {
        if (!process.isAlive()) {
          throw new EngineFailure(name + " has ended with status " + process.exitValue() + " (log: " + log + ")");
        }
        if (System.nanoTime() > end) {
          throw new EngineFailure(name + " was not ready after " + limit.toSeconds() + " s (log: " + log + ")");
        }
        Thread.sleep(POLL_MS);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(log + " cannot be read", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new EngineFailure("interrupted while waiting for " + name);
    }
  }

  /** Lets it end, by force after {@value #STOP_SECONDS} s. May be called from any thread. */
  @Override
  public void close() {
    try {
      process.getOutputStream().close();
    } catch (IOException e) {
      // It has ended.
    }
    try {
      if (!process.waitFor(STOP_SECONDS, TimeUnit.SECONDS)) {
        process.destroyForcibly().waitFor(STOP_SECONDS, TimeUnit.SECONDS);
      }
    } catch (InterruptedException e) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
  }

  /** {@code count} ports of loopback that nobody listens on now. */
  static List<Integer> freePorts(int count) {
    List<ServerSocket> sockets = new ArrayList<>();
    try {
      List<Integer> ports = new ArrayList<>();
      for (int i = 0; i < count; i++) {
        sockets.add(new ServerSocket(0, 1, InetAddress.getLoopbackAddress()));
        ports.add(sockets.get(i).getLocalPort());
      }
      return ports;
    } catch (IOException e) {
      throw new UncheckedIOException("no free port", e);
    } finally {
      sockets.forEach(Daemon::close);
    }
  }

  private static void close(ServerSocket socket) {
    try {
      socket.close();
    } catch (IOException e) {
      throw new UncheckedIOException("a socket cannot be closed", e);
    }
  }
}
