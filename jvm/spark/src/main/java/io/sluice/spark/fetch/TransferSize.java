package io.sluice.spark.fetch;

/**
 * How many bytes travel for a block of which a map status tells a size. Map tasks of SQL rows report the sizes of
 * Spark's own blocks, for adaptive execution ({@code docs/decisions/0005-map-statuses-carry-sparks-sizes.md}); Spark's
 * fetch iterator needs the bytes that it will hold, for its requests and for what it has in flight. Thread-safe.
 */
@FunctionalInterface
public interface TransferSize {
  /** The sizes are those of the blocks. */
  TransferSize AS_REPORTED = reportedBytes -> reportedBytes;

  /**
   * The bytes of a block.
   *
   * @param reportedBytes positive
   * @return positive
   */
  long bytes(long reportedBytes);

  /** For map outputs that have so many bytes for each byte that they report. */
  static TransferSize reportedTimes(double ratio) {
    return ratio == 1 ? AS_REPORTED : reportedBytes -> Math.max(1, Math.round(reportedBytes * ratio));
  }
}
