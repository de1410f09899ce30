package io.sluice.spark.metrics;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.LongAccumulator;
import java.util.concurrent.atomic.LongAdder;

/**
 * Durations in buckets, ten for each power of ten from 10 µs to 100 s, since it was made. A percentile is the upper end
 * of the bucket that it falls into, so it is right or up to a third too long, and never longer than the longest
 * duration. Any thread; a reading that happens beside {@link #add} may or may not have what is added.
 */
public final class LatencyHistogram {
  /** Where buckets end, within a power of ten: neighbours differ by a third at most. */
  private static final double[] STEPS = {1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8};
  private static final int POWERS = 7;
  private static final long FIRST_NANOS = TimeUnit.MICROSECONDS.toNanos(10);
  private static final int BASE = 10;
  /** Ascending; a bucket holds what is longer than the bound before and no longer than its own. */
  private static final long[] BOUNDS = bounds();

  /** One more than the bounds: for what is longer than all of them. */
  private final AtomicLongArray counts = new AtomicLongArray(BOUNDS.length + 1);
  private final LongAccumulator longest = new LongAccumulator(Math::max, 0);
  private final LongAdder total = new LongAdder();

  private static long[] bounds() {
    long[] bounds = new long[POWERS * STEPS.length + 1];
    long power = FIRST_NANOS;
    for (int i = 0; i < bounds.length; i++) {
      bounds[i] = (long) (STEPS[i % STEPS.length] * power);
      power *= (i + 1) % STEPS.length == 0 ? BASE : 1;
    }
    return bounds;
  }

  public void add(long nanos) {
    counts.incrementAndGet(bucket(nanos));
    longest.accumulate(nanos);
    total.add(nanos);
  }

  /** The first bucket whose bound is not shorter. */
  private static int bucket(long nanos) {
    int low = 0;
    int high = BOUNDS.length;
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (BOUNDS[middle] < nanos) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  /** How many durations there are. */
  public long count() {
    return countFrom(0);
  }

  /** How many are longer than {@code nanos}, which must be the end of a bucket. */
  public long longerThan(long nanos) {
    int bucket = bucket(nanos);
    if (bucket == BOUNDS.length || BOUNDS[bucket] != nanos) {
      throw new IllegalArgumentException("no bucket ends at " + nanos + " ns");
    }
    return countFrom(bucket + 1);
  }

  private long countFrom(int bucket) {
    long count = 0;
    for (int i = bucket; i < counts.length(); i++) {
      count += counts.get(i);
    }
    return count;
  }

  /** The longest duration; 0 for none. */
  public long longest() {
    return longest.get();
  }

  /**
   * The duration that {@code share} of all do not exceed; 0 for none.
   *
   * @param share from 0 to 1
   */
  public long percentile(double share) {
    long rank = Math.max(1, (long) Math.ceil(share * count()));
    long seen = 0;
    for (int i = 0; i < BOUNDS.length; i++) {
      seen += counts.get(i);
      if (seen >= rank) {
        return Math.min(BOUNDS[i], longest());
      }
    }
    return longest();
  }

  /**
   * The same durations in the coarser buckets that travel to the driver, each of which ends where one of these does.
   */
  public LatencyCounts coarse() {
    long[] coarse = new long[LatencyCounts.BUCKETS];
    for (int i = 0; i < counts.length(); i++) {
      coarse[i == BOUNDS.length ? LatencyCounts.BUCKETS - 1 : LatencyCounts.bucket(BOUNDS[i])] += counts.get(i);
    }
    return new LatencyCounts(coarse, total.sum(), longest());
  }
}
