package io.sluice.spark.columnar;

import org.apache.spark.sql.vectorized.ColumnarBatch;

/** Describes batches by Arrow's structs. For one task; one thread at a time. */
public interface BatchExport extends AutoCloseable {
  /**
   * Writes the structs of a batch's columns. What was written before a failure, or before the answer was false, stays:
   * the caller releases it. What the structs refer to stays as it is until the next call or {@link #close}.
   *
   * @return false when the batch's rows must go one by one
   */
  boolean export(ColumnarBatch batch, ArrowStructs structs);

  @Override
  void close();
}
