package io.sluice.spark.exchange;

import java.util.function.Supplier;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/**
 * The rows of one task that lie in batches of columns: an iterator of the rows that Spark's code makes of them, or,
 * where no row was asked for, the batches themselves. Only one of both is ever computed. One thread.
 */
public final class BatchedRows extends AbstractIterator<InternalRow> {
  private final Supplier<Iterator<InternalRow>> rows;
  private final Supplier<Iterator<ColumnarBatch>> batches;
  private final SQLMetric rowCount;
  private final SQLMetric batchCount;
  /** Null until it is asked for. */
  private Iterator<InternalRow> started;
  private boolean givesBatches;

  /**
   * @param rows begins to make rows, which counts them
   * @param batches begins to compute batches
   * @param rowCount where Spark counts the rows that it makes of batches; null if it does not
   * @param batchCount where it counts the batches; null if it does not
   */
  public BatchedRows(Supplier<Iterator<InternalRow>> rows, Supplier<Iterator<ColumnarBatch>> batches,
      SQLMetric rowCount, SQLMetric batchCount) {
    this.rows = rows;
    this.batches = batches;
    this.rowCount = rowCount;
    this.batchCount = batchCount;
  }

  @Override
  public boolean hasNext() {
    return rows().hasNext();
  }

  @Override
  public InternalRow next() {
    return rows().next();
  }

  private Iterator<InternalRow> rows() {
    if (givesBatches) {
      throw new IllegalStateException("rows of batches that were taken as batches");
    }
    if (started == null) {
      started = rows.get();
    }
    return started;
  }

  /** The batches, each valid until the next one is asked for; null when a row was asked for before. */
  Iterator<ColumnarBatch> takeBatches() {
    if (started != null || givesBatches) {
      return null;
    }
    givesBatches = true;
    Iterator<ColumnarBatch> taken = batches.get();
    if (rowCount == null) {
      return taken;
    }
    return new AbstractIterator<ColumnarBatch>() {
      @Override
      public boolean hasNext() {
        return taken.hasNext();
      }

      @Override
      public ColumnarBatch next() {
        ColumnarBatch batch = taken.next();
        batchCount.add(1);
        rowCount.add(batch.numRows());
        return batch;
      }
    };
  }
}
