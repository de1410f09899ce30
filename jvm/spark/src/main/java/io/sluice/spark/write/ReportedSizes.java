package io.sluice.spark.write;

/**
 * The block sizes that a map task reports to the driver. Adaptive execution plans by them: how many rows a reduce
 * task gets, what is skewed. Its settings were tuned on blocks of Spark's own shuffle, and the same rows take less
 * room in frames; so the sizes are reported on Spark's scale. What is read, and the bytes that metrics show, are the
 * real ones: they come from index files.
 */
final class ReportedSizes {
  private ReportedSizes() {}

  /**
   * @param lengths real bytes of each partition; not changed
   * @param rowBytes bytes of all rows before encoding: Spark's blocks would not be larger than that either
   * @param factor how much larger Spark's blocks typically are
   * @return never less than the real lengths, 0 only where they are 0
   */
  static long[] of(long[] lengths, long rowBytes, double factor) {
    long total = 0;
    for (long length : lengths) {
      total += length;
    }
    double scale = total == 0 ? 1 : Math.max(1, Math.min(factor, (double) rowBytes / total));
    long[] sizes = new long[lengths.length];
    for (int i = 0; i < lengths.length; i++) {
      sizes[i] = (long) (lengths[i] * scale);
    }
    return sizes;
  }
}
