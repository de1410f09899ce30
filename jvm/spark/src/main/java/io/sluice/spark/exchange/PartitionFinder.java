package io.sluice.spark.exchange;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/** Finds the partition that an exchange puts a row in, for the rows of one task, in their order. One thread. */
interface PartitionFinder {
  /** Returned where Spark's function must be asked. */
  int UNKNOWN = -1;

  /** The partition of {@code row}, or {@link #UNKNOWN}. */
  int find(UnsafeRow row);

  /**
   * Told the partition that Spark's function has given for {@code row}, after {@link #find}.
   *
   * @return false if it cannot be the partition that this object would find for such a row: it must not be used any
   *     more
   */
  boolean learn(UnsafeRow row, int partition);

  /**
   * Whether Spark's function is called for the first rows too, to compare its answers with this object's. False where
   * it could only agree: all rows go to one partition, or this object evaluates Spark's own expression, in which a
   * user's function would be called twice for these rows.
   */
  default boolean isCompared() {
    return true;
  }
}
