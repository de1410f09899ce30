package io.sluice.bench.soak;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/** Ends the processes of an application that does not answer in time, after writing down what their threads do. */
final class Watch implements AutoCloseable {

  private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor(work -> {
    Thread thread = new Thread(work, "soak-watch");
    thread.setDaemon(true);
    return thread;
  });
  private final long seconds;
  private final Path stacks;
  private volatile boolean ended;

  /** A watch that waits for {@code seconds} and writes stacks into the folder {@code stacks}. */
  Watch(long seconds, Path stacks) {
    this.seconds = seconds;
    this.stacks = stacks;
  }

  /**
   * Runs {@code work}, which asks an application of {@code processes}; {@link #ended} tells whether it was too slow.
   */
  <T> T over(Supplier<List<ProcessHandle>> processes, Supplier<T> work) {
    ended = false;
    ScheduledFuture<?> end = timer.schedule(() -> end(processes.get()), seconds, TimeUnit.SECONDS);
    try {
      return work.get();
    } finally {
      end.cancel(false);
    }
  }

  /** Whether the last work was ended because it took too long. */
  boolean ended() {
    return ended;
  }

  @Override
  public void close() {
    timer.shutdownNow();
  }

  private void end(List<ProcessHandle> processes) {
    ended = true;
    for (ProcessHandle process : processes) {
      writeStacks(process);
    }
    processes.forEach(ProcessHandle::destroyForcibly);
  }

  private void writeStacks(ProcessHandle process) {
    try {
      Files.createDirectories(stacks);
      Process jstack = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "jstack").toString(), "-l",
          Long.toString(process.pid())).redirectErrorStream(true)
          .redirectOutput(stacks.resolve("stacks-" + process.pid() + ".txt").toFile()).start();
      if (!jstack.waitFor(30, TimeUnit.SECONDS)) {
        jstack.destroyForcibly();
      }
    } catch (IOException e) {
      System.err.println("warning: no stacks of process " + process.pid() + ": " + e.getMessage());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
