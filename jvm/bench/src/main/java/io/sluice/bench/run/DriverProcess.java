package io.sluice.bench.run;

import io.sluice.bench.protocol.Json;
import io.sluice.bench.protocol.Reply;
import io.sluice.bench.protocol.Request;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * A driver process, and the requests to it and its replies. Used by one thread; {@link #close} ends the process, and so
 * does the end of this one, because the driver's standard input ends with it.
 */
public final class DriverProcess implements AutoCloseable {

  private static final long STOP_SECONDS = 60;
  private static final long EXECUTOR_STOP_SECONDS = 15;
  private static final long POLL_MS = 20;

  private final Process process;
  private final Path log;
  private final BufferedWriter requests;
  private final BufferedReader replies;

  private DriverProcess(Process process, Path log) {
    this.process = process;
    this.log = log;
    this.requests = new BufferedWriter(new OutputStreamWriter(process.getOutputStream(), StandardCharsets.UTF_8));
    this.replies = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
  }

  /** Starts {@code builder}'s process, whose standard error goes to {@code log}. */
  static DriverProcess start(ProcessBuilder builder, Path log) {
    try {
      return new DriverProcess(builder.redirectError(log.toFile()).start(), log);
    } catch (IOException e) {
      throw new UncheckedIOException("the driver cannot be started: " + builder.command(), e);
    }
  }

  ProcessHandle process() {
    return process.toHandle();
  }

  /** The driver, then its descendants, those that live now. */
  List<ProcessHandle> processes() {
    return Stream.concat(Stream.of(process.toHandle()), process.descendants()).toList();
  }

  /** Where the driver's messages are. */
  public Path log() {
    return log;
  }

  /**
   * Sends {@code request} and waits for its answer, passing progress on.
   *
   * @throws EngineFailure if the driver reports an error or is gone
   */
  public Reply ask(Request request, Consumer<Reply> progress) {
    try {
      requests.write(Json.line(request));
      requests.newLine();
      requests.flush();
      for (String line = replies.readLine(); line != null; line = replies.readLine()) {
        Reply reply = Json.parse(line, Reply.class);
        switch (reply.kind()) {
          case PROGRESS -> progress.accept(reply);
          case ERROR -> throw new EngineFailure(reply.error() + " (log: " + log + ")");
          default -> {
            return reply;
          }
        }
      }
      throw new EngineFailure("the driver ended without an answer (log: " + log + ")");
    } catch (IOException e) {
      throw new EngineFailure("the driver cannot be reached: " + e.getMessage() + " (log: " + log + ")");
    }
  }

  /** Lets the application stop in its own time, then by force. */
  @Override
  public void close() {
    List<ProcessHandle> started = processes();
    try {
      requests.close();
    } catch (IOException e) {
      // The pipe of a driver that has died is broken: it has ended already, as close is to make it.
      process.destroy();
    }
    try {
      if (!process.waitFor(STOP_SECONDS, TimeUnit.SECONDS)) {
        process.descendants().forEach(ProcessHandle::destroyForcibly);
        process.destroyForcibly();
      }
      endAll(started);
    } catch (InterruptedException e) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
  }

  /** Executors end when their driver has, but for one that was stopped by a signal, which hears nothing. */
  private static void endAll(List<ProcessHandle> started) throws InterruptedException {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(EXECUTOR_STOP_SECONDS);
    while (started.stream().anyMatch(ProcessHandle::isAlive) && System.nanoTime() < end) {
      Thread.sleep(POLL_MS);
    }
    started.forEach(ProcessHandle::destroyForcibly);
  }
}
