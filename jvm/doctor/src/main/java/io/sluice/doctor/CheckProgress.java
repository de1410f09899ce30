package io.sluice.doctor;

import java.io.PrintStream;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Says on standard error which check runs, once all together have taken three seconds: a bar on a terminal, elsewhere a
 * line for each check. A thread of its own does it, because one check may take long; any thread may call.
 */
final class CheckProgress implements AutoCloseable {
  /** For how long nothing is said. */
  static final long QUIET_MILLIS = 3_000;
  private static final long REDRAW_MILLIS = 200;
  private static final int BAR = 40;

  private final PrintStream err;
  private final boolean terminal;
  private final CountDownLatch ended = new CountDownLatch(1);
  private final Thread thread;
  private String subject = "";
  private int done;
  private int checks = 1;
  private String said = "";

  private CheckProgress(PrintStream err, boolean terminal, long quietMillis) {
    this.err = err;
    this.terminal = terminal;
    this.thread = new Thread(() -> sayUntilClosed(quietMillis), "sluice-doctor-progress");
    thread.setDaemon(true);
  }

  /** @param quietMillis how long nothing is said */
  static CheckProgress start(PrintStream err, boolean terminal, long quietMillis) {
    CheckProgress progress = new CheckProgress(err, terminal, quietMillis);
    progress.thread.start();
    return progress;
  }

  /** A check begins, when {@code before} of {@code all} have ended. */
  synchronized void begins(String what, int before, int all) {
    subject = what;
    done = before;
    checks = all;
  }

  private void sayUntilClosed(long quietMillis) {
    try {
      boolean closed = ended.await(quietMillis, TimeUnit.MILLISECONDS);
      while (!closed) {
        say();
        closed = ended.await(REDRAW_MILLIS, TimeUnit.MILLISECONDS);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private synchronized void say() {
    String line = "checking " + (done + 1) + " of " + checks + ": " + subject;
    if (subject.isEmpty() || line.equals(said)) {
      return;
    }
    said = line;
    if (terminal) {
      err.print("\r\u001b[K" + bar() + line);
    } else {
      err.println(line);
    }
    err.flush();
  }

  private String bar() {
    StringBuilder bar = new StringBuilder("[");
    int filled = done * BAR / checks;
    for (int i = 0; i < BAR; i++) {
      bar.append(i < filled ? '=' : i == filled ? '>' : ' ');
    }
    return bar.append("] ").toString();
  }

  /** Removes the bar. */
  @Override
  public void close() {
    ended.countDown();
    try {
      thread.join(REDRAW_MILLIS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    synchronized (this) {
      if (terminal && !said.isEmpty()) {
        err.print("\r\u001b[K");
        err.flush();
      }
    }
  }
}
