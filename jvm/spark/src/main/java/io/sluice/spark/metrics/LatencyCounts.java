package io.sluice.spark.metrics;

import com.fasterxml.jackson.annotation.JsonAutoDetect;
import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonProperty;
import java.io.Serializable;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;

/**
 * How many blocks took how long, in the few buckets that travel to the driver and are shown: two for each power of ten
 * from 100 µs to 10 s. Made of a {@link LatencyHistogram}, whose finer buckets end at the same bounds, so counts of
 * several executors can be added. Immutable.
 */
@JsonIgnoreProperties(ignoreUnknown = true)
@JsonAutoDetect(
    fieldVisibility = JsonAutoDetect.Visibility.ANY, getterVisibility = JsonAutoDetect.Visibility.NONE,
    isGetterVisibility = JsonAutoDetect.Visibility.NONE)
public final class LatencyCounts implements Serializable {
  private static final long serialVersionUID = 1L;

  private static final long[] BOUNDS_NANOS = {micros(100), micros(300), micros(1_000), micros(3_000), micros(10_000),
    micros(30_000), micros(100_000), micros(300_000), micros(1_000_000), micros(3_000_000), micros(10_000_000)};
  private static final String[] LABELS = {"≤ 0.1 ms", "≤ 0.3 ms", "≤ 1 ms", "≤ 3 ms", "≤ 10 ms", "≤ 30 ms", "≤ 100 ms",
    "≤ 300 ms", "≤ 1 s", "≤ 3 s", "≤ 10 s", "> 10 s"};
  /** One more than the bounds: for what is longer than all of them. */
  public static final int BUCKETS = BOUNDS_NANOS.length + 1;
  /** Of no block. */
  public static final LatencyCounts NONE = new LatencyCounts(new long[BUCKETS], 0, 0);

  private final long[] counts;
  private final long totalNanos;
  private final long longestNanos;

  /** @param counts by bucket; what is missing is 0, and what there are more, of a later version, is left out */
  @JsonCreator
  public LatencyCounts(@JsonProperty("counts") long[] counts, @JsonProperty("totalNanos") long totalNanos,
      @JsonProperty("longestNanos") long longestNanos) {
    this.counts = counts == null ? new long[BUCKETS] : Arrays.copyOf(counts, BUCKETS);
    this.totalNanos = totalNanos;
    this.longestNanos = longestNanos;
  }

  private static long micros(long micros) {
    return TimeUnit.MICROSECONDS.toNanos(micros);
  }

  /** The bucket of a duration. */
  static int bucket(long nanos) {
    int bucket = 0;
    while (bucket < BOUNDS_NANOS.length && nanos > BOUNDS_NANOS[bucket]) {
      bucket++;
    }
    return bucket;
  }

  /** What a bucket holds, for people. */
  public static String label(int bucket) {
    return LABELS[bucket];
  }

  /** How many blocks are in a bucket. */
  public long count(int bucket) {
    return counts[bucket];
  }

  /** How many blocks there are. */
  public long blocks() {
    return Arrays.stream(counts).sum();
  }

  /** The blocks' latencies, added up. */
  public long totalNanos() {
    return totalNanos;
  }

  public long longestNanos() {
    return longestNanos;
  }

  /** The counts as an array of its own. */
  public long[] toArray() {
    return counts.clone();
  }

  public LatencyCounts plus(LatencyCounts other) {
    long[] sum = counts.clone();
    for (int i = 0; i < BUCKETS; i++) {
      sum[i] += other.counts[i];
    }
    return new LatencyCounts(sum, totalNanos + other.totalNanos, Math.max(longestNanos, other.longestNanos));
  }

  /**
   * The end of the bucket in which the block is that {@code share} of all are not slower than, or the longest latency
   * if that is shorter; 0 for no block.
   */
  public long percentile(double share) {
    long rank = Math.max(1, (long) Math.ceil(share * blocks()));
    long seen = 0;
    for (int i = 0; i < BOUNDS_NANOS.length; i++) {
      seen += counts[i];
      if (seen >= rank) {
        return Math.min(BOUNDS_NANOS[i], longestNanos);
      }
    }
    return longestNanos;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof LatencyCounts that && Arrays.equals(counts, that.counts) && totalNanos == that.totalNanos
        && longestNanos == that.longestNanos;
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(counts) + Long.hashCode(totalNanos);
  }
}
