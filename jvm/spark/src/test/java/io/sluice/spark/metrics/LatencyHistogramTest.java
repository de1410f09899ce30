package io.sluice.spark.metrics;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** Counts and the longest duration are exact; percentiles are at most a third too long, and never too short. */
class LatencyHistogramTest {
  private static final double MOST_TOO_LONG = 1.34;
  private static final long SHORTEST_BOUND = TimeUnit.MICROSECONDS.toNanos(10);

  private final LatencyHistogram histogram = new LatencyHistogram();

  @Test
  void withoutDurationsAllIsZero() {
    assertEquals(0, histogram.count());
    assertEquals(0, histogram.longest());
    assertEquals(0, histogram.percentile(0.99));
  }

  @Test
  void percentilesAreThoseOfTheSortedDurations() {
    Random random = new Random(7);
    // From 10 µs to 100 s, each power of ten as often.
    long[] nanos = LongStream.generate(() -> (long) (SHORTEST_BOUND * Math.pow(10, 7 * random.nextDouble())))
        .limit(20_000).toArray();
    LongStream.of(nanos).forEach(histogram::add);
    Arrays.sort(nanos);
    for (double share : new double[] {0.001, 0.1, 0.5, 0.95, 0.99, 1}) {
      long exact = nanos[(int) Math.ceil(share * nanos.length) - 1];
      long found = histogram.percentile(share);
      assertTrue(found >= exact && found <= exact * MOST_TOO_LONG, () -> share + ": " + exact + " but " + found);
    }
    assertEquals(nanos.length, histogram.count());
    assertEquals(nanos[nanos.length - 1], histogram.longest());
    assertEquals(nanos[nanos.length - 1], histogram.percentile(1));
  }

  @Test
  void whatIsShorterOrLongerThanAllBucketsIsCountedToo() {
    long hour = TimeUnit.HOURS.toNanos(1);
    for (long nanos : new long[] {0, 1, hour}) {
      histogram.add(nanos);
    }
    assertEquals(3, histogram.count());
    assertEquals(SHORTEST_BOUND, histogram.percentile(0.5));
    assertEquals(hour, histogram.percentile(0.99));
    assertEquals(1, histogram.longerThan(TimeUnit.SECONDS.toNanos(100)));
  }

  @Test
  void whatIsLongerThanABucketsEndIsCountedExactly() {
    for (long millis : new long[] {1, 10, 11, 100, 101, 1000}) {
      histogram.add(TimeUnit.MILLISECONDS.toNanos(millis));
    }
    assertEquals(4, histogram.longerThan(TimeUnit.MILLISECONDS.toNanos(10)));
    assertEquals(2, histogram.longerThan(TimeUnit.MILLISECONDS.toNanos(100)));
    assertEquals(0, histogram.longerThan(TimeUnit.SECONDS.toNanos(1)));
    assertThrows(IllegalArgumentException.class, () -> histogram.longerThan(TimeUnit.MILLISECONDS.toNanos(7)));
  }

  @Test
  void coarseBucketsHoldWhatTheFinerOnesHold() {
    long[] millis = {0, 1, 3, 4, 30, 31, 999, 1_000, 10_000, 10_001};
    for (long each : millis) {
      histogram.add(TimeUnit.MILLISECONDS.toNanos(each));
    }
    LatencyCounts counts = histogram.coarse();
    // Up to 0.1, 0.3, 1, 3, 10, 30, 100, 300 ms, 1, 3, 10 s, longer.
    assertArrayEquals(new long[] {1, 0, 1, 1, 1, 1, 1, 0, 2, 0, 1, 1}, counts.toArray());
    assertEquals(millis.length, counts.blocks());
    assertEquals(TimeUnit.MILLISECONDS.toNanos(java.util.Arrays.stream(millis).sum()), counts.totalNanos());
    assertEquals(TimeUnit.MILLISECONDS.toNanos(10_001), counts.longestNanos());
    assertEquals(TimeUnit.MILLISECONDS.toNanos(30), counts.percentile(0.5));
    assertEquals(TimeUnit.MILLISECONDS.toNanos(10_001), counts.percentile(1));
    assertEquals(2 * millis.length, counts.plus(counts).blocks());
    assertEquals(0, LatencyCounts.NONE.percentile(0.5));
  }
}
