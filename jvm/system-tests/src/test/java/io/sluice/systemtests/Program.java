package io.sluice.systemtests;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * A process that reports its progress on its standard output. Closing ends it, by force if it has not ended by itself.
 */
final class Program implements AutoCloseable {
  private static final long LIMIT_SECONDS = 120;
  private static final String END = "the end of the output";

  private final Process process;
  private final Path log;
  private final BlockingQueue<String> lines = new LinkedBlockingQueue<>();

  private Program(Process process, Path log) {
    this.process = process;
    this.log = log;
  }

  /** Starts {@code builder}'s process; {@code log} is for error messages. */
  static Program start(ProcessBuilder builder, Path log) throws IOException {
    Program program = new Program(builder.start(), log);
    Thread reader = new Thread(program::readLines, "program-output");
    reader.setDaemon(true);
    reader.start();
    return program;
  }

  private void readLines() {
    try (BufferedReader output =
        new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
      output.lines().forEach(lines::add);
    } catch (IOException | UncheckedIOException e) {
      // This side has ended the process.
    } finally {
      lines.add(END);
    }
  }

  long pid() {
    return process.pid();
  }

  /** The rest of the next line that starts with {@code prefix}; lines before it are dropped. */
  String await(String prefix) throws InterruptedException {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(LIMIT_SECONDS);
    while (true) {
      String line = lines.poll(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
      if (line == null || line.equals(END)) {
        throw new AssertionError("no '" + prefix + "': " + (line == null ? "not within " + LIMIT_SECONDS + " s" : END)
            + "; see " + log);
      }
      if (line.startsWith(prefix)) {
        return line.substring(prefix.length());
      }
    }
  }

  /** Sends a line, for a process that waits for one. */
  void goOn() throws IOException {
    process.getOutputStream().write('\n');
    process.getOutputStream().flush();
  }

  /** Waits until the process has ended; its exit status must be 0. */
  void awaitEnd() throws InterruptedException {
    if (!process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS) || process.exitValue() != 0) {
      throw new AssertionError(
          (process.isAlive() ? "still running" : "exit status " + process.exitValue()) + "; see " + log);
    }
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }
}
