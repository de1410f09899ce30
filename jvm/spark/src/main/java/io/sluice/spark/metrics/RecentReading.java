package io.sluice.spark.metrics;

import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * Figures that are read together by one call and kept for a moment, so that a sink that asks for forty metrics one
 * after the other makes one call, and gets figures of the same moment. Any thread.
 *
 * @param <T> the figures
 */
public final class RecentReading<T> {
  /** A sink asks for all its metrics within milliseconds, and every second at most. */
  static final long KEPT_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

  private final Supplier<T> source;
  private final LongSupplier clockNanos;
  /** Null before the first reading and after one that failed. */
  private T newest;
  private long readAt;

  /** @param source makes the call */
  public RecentReading(Supplier<T> source) {
    this(source, System::nanoTime);
  }

  RecentReading(Supplier<T> source, LongSupplier clockNanos) {
    this.source = source;
    this.clockNanos = clockNanos;
  }

  /**
   * The figures now, or a moment ago. What the call throws passes through, and the next caller makes another call.
   */
  public synchronized T get() {
    long now = clockNanos.getAsLong();
    if (newest == null || now - readAt >= KEPT_NANOS) {
      newest = null;
      newest = source.get();
      readAt = now;
    }
    return newest;
  }
}
