package io.sluice.spark.executor;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/**
 * How many bytes this executor's map outputs of each shuffle have, and how many they report to the driver: the sizes of
 * Spark's own blocks. Reduce tasks of the executor estimate by it how many bytes they fetch; other executors' map
 * outputs of the same shuffle hold rows of the same kind. Any thread.
 */
public final class ReportedBytes {
  private record Sums(double real, double reported) {
    Sums plus(Sums other) {
      return new Sums(real + other.real, reported + other.reported);
    }
  }

  private final ConcurrentMap<Integer, Sums> byShuffle = new ConcurrentHashMap<>();

  /** Adds a map output that this executor has committed. */
  public void add(int shuffleId, long realBytes, long reportedBytes) {
    if (reportedBytes > 0) {
      byShuffle.merge(shuffleId, new Sums(realBytes, reportedBytes), Sums::plus);
    }
  }

  /**
   * Real bytes for each reported byte of a shuffle's map outputs.
   *
   * @param unknown returned if this executor has written none of them
   */
  public double ratio(int shuffleId, double unknown) {
    Sums sums = byShuffle.get(shuffleId);
    return sums == null ? unknown : sums.real() / sums.reported();
  }

  /** Forgets a shuffle that was removed. */
  public void forget(int shuffleId) {
    byShuffle.remove(shuffleId);
  }
}
