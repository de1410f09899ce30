package io.sluice.spark.executor;

import java.util.concurrent.TimeUnit;

/**
 * How often an executor describes itself to the driver: with its first tasks, then with one task a second, so that
 * thousands of short tasks do not each send one. Any thread.
 */
public final class ReportPace {
  private static final int FIRST_TASKS = 10;
  private static final long DISTANCE_NANOS = TimeUnit.SECONDS.toNanos(1);

  private int reports;
  private long lastNanos;

  /**
   * Whether a task that starts now brings a description.
   *
   * @param nowNanos {@link System#nanoTime}
   */
  public synchronized boolean isDue(long nowNanos) {
    boolean due = reports < FIRST_TASKS || nowNanos - lastNanos >= DISTANCE_NANOS;
    if (due) {
      reports++;
      lastNanos = nowNanos;
    }
    return due;
  }
}
