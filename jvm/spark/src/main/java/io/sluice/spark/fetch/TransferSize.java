package io.sluice.spark.fetch;

/**
 * How many bytes travel for a block of which a map status tells a size. Map tasks report sizes on the scale of
 * Spark's own blocks, for adaptive execution ({@code docs/decisions/0005-map-status-lengths.md}); Spark's fetch
 * iterator needs the bytes that it will hold, for its requests and for what it has in flight. Thread-safe.
 */
@FunctionalInterface
public interface TransferSize {
  /** The sizes are those of the blocks. */
  TransferSize AS_REPORTED = (mapIndex, reportedBytes) -> reportedBytes;

  /**
   * The bytes of a block.
   *
   * @param mapIndex of the map output in its stage
   * @param reportedBytes positive
   * @return positive
   */
  long bytes(int mapIndex, long reportedBytes);

  /** For map outputs whose reported sizes are {@code factor} times those of their blocks. */
  static TransferSize reportedTimes(double factor) {
    return factor == 1 ? AS_REPORTED : (mapIndex, reportedBytes) -> Math.max(1, (long) (reportedBytes / factor));
  }
}
