package io.sluice.advisor.model;

/**
 * What a stage added to a metric of Spark SQL.
 *
 * @param accumulator number of the accumulator behind the metric
 * @param name one that {@link #isKnown}
 * @param value milliseconds or bytes
 */
public record SqlMetric(long accumulator, String name, long value) {
  /** Of {@code SortExec}: milliseconds in which rows were sorted, without those in which they were collected. */
  public static final String SORT_TIME = "sort time";
  /** Of an exchange: bytes of its rows before compression. */
  public static final String DATA_SIZE = "data size";

  /** Whether an estimate needs the metric of that name. */
  public static boolean isKnown(String name) {
    return name.equals(SORT_TIME) || name.equals(DATA_SIZE);
  }
}
