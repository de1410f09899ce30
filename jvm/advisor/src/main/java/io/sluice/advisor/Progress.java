package io.sluice.advisor;

import io.sluice.advisor.log.ReadProgress;
import java.io.PrintStream;
import java.util.Locale;

/**
 * Says how much of the logs' bytes has been read, once that has taken three seconds: a bar on a terminal, elsewhere a
 * line at each tenth. One thread.
 */
public final class Progress implements ReadProgress, AutoCloseable {
  /** For how long nothing is said. */
  public static final long QUIET_NANOS = 3_000_000_000L;
  private static final long REDRAW_NANOS = 200_000_000L;
  private static final int BAR = 40;
  private static final int STEPS = 10;
  private static final double MEGA = 1e6;

  private final PrintStream err;
  private final boolean terminal;
  private final long total;
  private final long quietNanos;
  private final long startNanos = System.nanoTime();
  private long read;
  private long drawnNanos;
  private long step;
  private boolean drawn;

  /**
   * @param total bytes of all files
   * @param quietNanos how long nothing is said
   */
  public Progress(PrintStream err, boolean terminal, long total, long quietNanos) {
    this.err = err;
    this.terminal = terminal;
    this.total = Math.max(1, total);
    this.quietNanos = quietNanos;
  }

  @Override
  public void read(int bytes) {
    read += bytes;
    long now = System.nanoTime();
    if (now - startNanos < quietNanos) {
      return;
    }
    if (terminal && now - drawnNanos >= REDRAW_NANOS) {
      drawnNanos = now;
      drawn = true;
      err.print("\r" + bar());
      err.flush();
    } else if (!terminal && read * STEPS / total > step) {
      step = read * STEPS / total;
      err.println(String.format(Locale.ROOT, "read %d %% of %.0f MB", Math.min(100, read * 100 / total), total / MEGA));
    }
  }

  private String bar() {
    int filled = (int) Math.min(BAR, read * BAR / total);
    StringBuilder bar = new StringBuilder("reading [");
    for (int i = 0; i < BAR; i++) {
      bar.append(i < filled ? '=' : i == filled ? '>' : ' ');
    }
    return bar.append(String.format(Locale.ROOT, "] %3d %% of %.0f MB", Math.min(100, read * 100 / total),
        total / MEGA)).toString();
  }

  /** Removes the bar. */
  @Override
  public void close() {
    if (drawn) {
      err.print("\r\u001b[K");
      err.flush();
    }
  }
}
