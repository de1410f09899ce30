package io.sluice.spark.write;

import java.util.List;

/**
 * The compressed sizes of the first bytes of one partition's stream, at one or several lengths.
 *
 * @param partition which
 * @param points pairs of a length and the compressed length of that many bytes, by ascending length, at least one
 * @param large whether it was chosen because the partition is much larger than others
 * @param isLong whether it goes well beyond the length at which most samples end, which is then its last point but one
 */
record MeasuredStream(int partition, List<long[]> points, boolean large, boolean isLong) {
  long rawBytes() {
    return points.get(points.size() - 1)[0];
  }

  long compressedBytes() {
    return points.get(points.size() - 1)[1];
  }

  /** Whether it was measured at more than one length. */
  boolean hasSlope() {
    return points.size() > 1;
  }

  /**
   * Of a long one: compressed bytes of each byte between the last two lengths, relative to those of each byte before.
   */
  double furtherOn() {
    long[] from = points.get(points.size() - 2);
    long[] to = points.get(points.size() - 1);
    return (double) (to[1] - from[1]) / (to[0] - from[0]) * from[0] / from[1];
  }

  /** Compressed size of an empty stream, extrapolated from the first two points; at least 0. */
  double intercept() {
    long[] first = points.get(0);
    long[] second = points.get(1);
    double slope = (double) (second[1] - first[1]) / (second[0] - first[0]);
    return Math.max(0, first[1] - slope * first[0]);
  }

  /**
   * Compressed length of {@code bytes} of this stream: between the measured lengths in straight lines.
   *
   * @param intercept where there is one point only: the compressed length of nothing
   * @param furtherOn compressed bytes of each byte beyond the measured ones, relative to those of the first ones
   */
  double at(double bytes, double intercept, double furtherOn) {
    if (bytes > rawBytes()) {
      long[] first = points.get(points.size() - (isLong ? 2 : 1));
      return compressedBytes() + furtherOn * (bytes - rawBytes()) * first[1] / first[0];
    }
    int above = 0;
    while (above < points.size() - 1 && points.get(above)[0] < bytes) {
      above++;
    }
    if (above == 0) {
      long[] first = points.get(0);
      double zero = Math.min(hasSlope() ? intercept() : intercept, first[1]);
      return zero + (first[1] - zero) * bytes / first[0];
    }
    long[] from = points.get(above - 1);
    long[] to = points.get(above);
    return Math.max(1, from[1] + (bytes - from[0]) * (to[1] - from[1]) / (to[0] - from[0]));
  }
}
