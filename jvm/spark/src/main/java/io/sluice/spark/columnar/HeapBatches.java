package io.sluice.spark.columnar;

import java.util.Iterator;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.RowToColumnConverter;
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/**
 * Batches of Spark's vectors on the heap, made of rows by Spark's own code. Each has vectors of its own, so that a
 * consumer may close it, and a long row's memory is not kept. One thread at a time.
 */
public final class HeapBatches {
  /** Vectors grow where they must; the first row may be the only one. */
  private static final int FIRST_ROWS = 1024;

  private final StructType schema;
  private final int mostRows;
  private RowToColumnConverter converter;

  /** @param mostRows of a batch */
  public HeapBatches(StructType schema, int mostRows) {
    this.schema = schema;
    this.mostRows = mostRows;
  }

  /**
   * A batch of the next rows, which {@code rows} may reuse: as many as there are, and no more than a batch may have.
   */
  public ColumnarBatch next(Iterator<? extends InternalRow> rows) {
    if (converter == null) {
      converter = new RowToColumnConverter(schema);
    }
    OnHeapColumnVector[] vectors = OnHeapColumnVector.allocateColumns(Math.min(mostRows, FIRST_ROWS), schema);
    int count = 0;
    while (count < mostRows && rows.hasNext()) {
      converter.convert(rows.next(), vectors);
      count++;
    }
    return new ColumnarBatch(vectors, count);
  }
}
