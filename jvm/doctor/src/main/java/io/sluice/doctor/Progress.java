package io.sluice.doctor;

import java.io.PrintStream;

/**
 * Says which check runs, once all of them have taken three seconds: a bar on a terminal, elsewhere a line each time
 * that another check runs. A thread of its own says it, because a check may wait for a program or a device.
 */
final class Progress implements Doctor.Watcher, AutoCloseable {
  /** For how long nothing is said, and how often what is said is looked at again. */
  static final long QUIET_MILLIS = 3_000;
  static final long REPAINT_MILLIS = 500;
  private static final int BAR = 20;

  private final PrintStream err;
  private final boolean terminal;
  private final Thread painter;
  private int checks;
  private int number;
  private String title = "";
  private int said;
  private boolean closed;

  Progress(PrintStream err, boolean terminal, long quietMillis, long repaintMillis) {
    this.err = err;
    this.terminal = terminal;
    this.painter = new Thread(() -> paint(quietMillis, repaintMillis), "sluice-doctor-progress");
    painter.setDaemon(true);
    painter.start();
  }

  @Override
  public synchronized void begins(int itsNumber, int ofChecks, String subject) {
    number = itsNumber;
    checks = ofChecks;
    title = subject;
  }

  private synchronized void paint(long quietMillis, long repaintMillis) {
    try {
      wait(quietMillis);
      while (!closed) {
        if (terminal && number > 0) {
          err.print("\r" + bar() + "\u001b[K");
          err.flush();
          said = number;
        } else if (number > said) {
          err.println("checking " + number + " of " + checks + ": " + title);
          said = number;
        }
        wait(repaintMillis);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private String bar() {
    StringBuilder bar = new StringBuilder("checking [");
    int filled = (number - 1) * BAR / Math.max(1, checks);
    for (int i = 0; i < BAR; i++) {
      bar.append(i < filled ? '=' : i == filled ? '>' : ' ');
    }
    return bar.append("] ").append(number).append(" of ").append(checks).append(": ").append(title).toString();
  }

  /** Removes the bar. */
  @Override
  public synchronized void close() {
    closed = true;
    notifyAll();
    if (terminal && said > 0) {
      err.print("\r\u001b[K");
      err.flush();
    }
  }
}
