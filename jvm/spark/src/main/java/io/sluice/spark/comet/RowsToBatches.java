package io.sluice.spark.comet;

import java.util.NoSuchElementException;
import java.util.function.BooleanSupplier;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.util.TaskCompletionListener;
import scala.Product2;
import scala.Tuple2;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/**
 * The batches of a reduce task, made of rows: for nested types, and executors without the native core.
 * Pairs of 0 and batch. Each batch is closed when the next one is asked for, and the last one when the task completes;
 * methods of other threads wait for each other.
 *
 * <p>Every batch has vectors of its own. Comet's {@code CometArrowConverters} fills the same vectors again, which does
 * not do here: Comet's native operators keep the buffers of what comes from an exchange ({@code arrow_ffi_safe}), a
 * sort until all batches are there.
 */
final class RowsToBatches extends AbstractIterator<Product2<Object, Object>> {
  private static final int MOST_ROWS = 8192;
  /** Of rows; a batch ends with the row that reaches it. */
  private static final long USUAL_BYTES = 16 << 20;

  private final Iterator<? extends Product2<?, ?>> rows;
  private final BooleanSupplier alone;
  private final CometArrow arrow;
  /** A row that does not belong to the batch before it; {@link #rows} is not asked for the next one meanwhile. */
  private InternalRow waiting;
  private ColumnarBatch current;
  private boolean closed;

  /**
   * @param rows pairs of partition and {@code UnsafeRow}, each of which is valid until the next one is asked for
   * @param alone whether the row that {@code rows} gave last is a batch of its own
   * @param comets the loader of Comet's classes
   */
  RowsToBatches(Iterator<? extends Product2<?, ?>> rows, BooleanSupplier alone, StructType schema, ClassLoader comets,
      TaskContext context) {
    this.rows = rows;
    this.alone = alone;
    this.arrow = new CometArrow(comets, schema);
    context.addTaskCompletionListener((TaskCompletionListener) done -> close());
  }

  /** As Comet's own reader it gives the batch before back: who asks has used it. */
  @Override
  public synchronized boolean hasNext() {
    closeCurrent();
    return !closed && (waiting != null || rows.hasNext());
  }

  @Override
  public synchronized Product2<Object, Object> next() {
    if (!hasNext()) {
      throw new NoSuchElementException("no more batches in this shuffle partition");
    }
    current = fill();
    return new Tuple2<>(0, current);
  }

  private ColumnarBatch fill() {
    try (CometArrow.Batch batch = arrow.newBatch()) {
      if (waiting != null) {
        batch.add(waiting);
        waiting = null;
        return batch.finish();
      }
      int count = 0;
      long bytes = 0;
      while (count < MOST_ROWS && bytes < USUAL_BYTES && rows.hasNext()) {
        InternalRow row = (InternalRow) rows.next()._2();
        if (count > 0 && alone.getAsBoolean()) {
          waiting = row;
          break;
        }
        batch.add(row);
        count++;
        bytes += ((UnsafeRow) row).getSizeInBytes();
        if (alone.getAsBoolean()) {
          break;
        }
      }
      return batch.finish();
    }
  }

  private void closeCurrent() {
    if (current != null) {
      ColumnarBatch done = current;
      current = null;
      done.close();
    }
  }

  private synchronized void close() {
    closed = true;
    closeCurrent();
  }
}
