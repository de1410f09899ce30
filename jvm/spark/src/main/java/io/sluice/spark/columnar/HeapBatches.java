package io.sluice.spark.columnar;

import java.util.Iterator;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.RowToColumnConverter;
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/**
 * Batches of Spark's vectors on the heap, made of rows by Spark's own code. Each is filled anew for the next one, as
 * Spark's {@code RowToColumnarExec} does. One thread at a time.
 */
public final class HeapBatches {
  private final StructType schema;
  private final int mostRows;
  private RowToColumnConverter converter;
  private OnHeapColumnVector[] vectors;

  /** @param mostRows of a batch */
  public HeapBatches(StructType schema, int mostRows) {
    this.schema = schema;
    this.mostRows = mostRows;
  }

  /**
   * A batch of the next rows, which {@code rows} may reuse: as many as there are, and no more than a batch may have.
   */
  public ColumnarBatch next(Iterator<? extends InternalRow> rows) {
    if (vectors == null) {
      converter = new RowToColumnConverter(schema);
      // They grow where they must; the first row may be the only one.
      vectors = OnHeapColumnVector.allocateColumns(Math.min(mostRows, 1024), schema);
    }
    for (OnHeapColumnVector vector : vectors) {
      vector.reset();
    }
    int count = 0;
    while (count < mostRows && rows.hasNext()) {
      converter.convert(rows.next(), vectors);
      count++;
    }
    return new ColumnarBatch(vectors, count);
  }
}
