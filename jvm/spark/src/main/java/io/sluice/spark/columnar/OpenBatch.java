package io.sluice.spark.columnar;

import io.sluice.nativebridge.NativeColumns;
import io.sluice.nativebridge.NativeException;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** A batch that the native core has taken over, until it is closed. One task's thread. */
public final class OpenBatch implements AutoCloseable {
  private final long handle;
  private final ColumnarBatch batch;
  private final BatchToRows rows;

  OpenBatch(long handle, ColumnarBatch batch, BatchToRows rows) {
    this.handle = handle;
    this.batch = batch;
    this.rows = rows;
  }

  /** How many rows it has. */
  public int rows() {
    return batch.numRows();
  }

  /** Fields of a row. */
  public int fields() {
    return rows.fields();
  }

  /**
   * Copies rows to a page of {@code capacity} bytes, as many as there is room for.
   *
   * @param first the first row that is not copied yet
   * @param filled bytes of rows and number of entries that the page has; changed to what it has then
   * @return how many rows were copied
   */
  public int toPage(int first, long page, long capacity, long[] filled) {
    return (int) NativeException.check(NativeColumns.batchToPage(handle, first, page, capacity, filled));
  }

  /** Bytes of a row. */
  public int rowBytes(int row) {
    return (int) NativeException.check(NativeColumns.batchRowBytes(handle, row));
  }

  /** Bytes of the values as Arrow has them. */
  public long valueBytes() {
    return NativeException.check(NativeColumns.batchValueBytes(handle));
  }

  /** The partition of a row as the native core has found it. */
  public int foundPartition(int row) {
    return (int) NativeException.check(NativeColumns.batchPartition(handle, row));
  }

  /** A row as Spark makes it; valid until the next call. */
  public UnsafeRow row(int row) {
    return rows.unsafe(batch.getRow(row));
  }

  /** The partition of a row of {@link #row}, as Spark finds it. */
  public int partition(UnsafeRow row) {
    return rows.partition(row);
  }

  @Override
  public void close() {
    NativeException.check(NativeColumns.batchClose(handle));
  }
}
