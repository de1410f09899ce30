package io.sluice.systemtests;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;

/**
 * A process whose threads are all stopped (SIGSTOP) until it is closed or killed: the process exists and its
 * connections stay open, but it sends nothing.
 */
final class StoppedProcess implements AutoCloseable {
  private static final Duration LIMIT = Duration.ofSeconds(60);

  private final long pid;
  private boolean killed;

  private StoppedProcess(long pid) {
    this.pid = pid;
  }

  static StoppedProcess stop(long pid) throws IOException {
    StoppedProcess stopped = new StoppedProcess(pid);
    send("STOP", pid);
    Await.until(LIMIT, () -> "process " + pid + " does not stop", stopped::standsStill);
    return stopped;
  }

  /** The field after the process name, which is in parentheses. */
  private boolean standsStill() {
    try {
      String stat = Files.readString(Path.of("/proc", Long.toString(pid), "stat"));
      return stat.charAt(stat.lastIndexOf(')') + 2) == 'T';
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Kills the process while it is stopped. */
  void kill() throws IOException {
    killed = true;
    send("KILL", pid);
  }

  /** Lets the process continue (SIGCONT), unless it was killed. */
  @Override
  public void close() throws IOException {
    if (!killed) {
      send("CONT", pid);
    }
  }

  @Override
  public String toString() {
    return "stopped process " + pid;
  }

  private static void send(String signal, long pid) throws IOException {
    Process kill = new ProcessBuilder("kill", "-" + signal, Long.toString(pid)).inheritIO().start();
    try {
      if (kill.waitFor() != 0) {
        throw new IOException("kill -" + signal + " " + pid + " failed");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while sending SIG" + signal, e);
    }
  }
}
