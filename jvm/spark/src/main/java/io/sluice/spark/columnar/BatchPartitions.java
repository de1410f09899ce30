package io.sluice.spark.columnar;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/** How the rows of batches are divided. For one task; one thread at a time. */
public interface BatchPartitions {
  /** As {@link io.sluice.nativebridge.NativeColumns#batchOpen} takes it; null where rows must go one by one. */
  long[] numbers();

  /** Asked of each batch before its rows are written; when it is false they go one by one. */
  default boolean accepts(OpenBatch batch) {
    return true;
  }

  /** The partition of a row, as Spark's exchange finds it. */
  int partition(UnsafeRow row);
}
