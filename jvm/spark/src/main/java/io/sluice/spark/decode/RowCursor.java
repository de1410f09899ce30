package io.sluice.spark.decode;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;
import scala.Product2;
import scala.Tuple2;

/**
 * The place of a reader in its current batch: one row and one pair, reused for every record. The row points into the
 * batch, or into an array on the heap, which the garbage collector frees. One thread.
 */
final class RowCursor {
  private UnsafeRow row;
  private Tuple2<Object, UnsafeRow> pair;
  /** The array that holds the rows: the batch's, or a copy. Null when they are outside the heap. */
  private byte[] base;
  /** Whether the end of the task leaves the rows alone. */
  private boolean copied;
  private long rowOffset;
  private long lengthOffset;

  /** Goes to the place before the first row of {@code batch}. */
  void open(DecodedBatch batch) {
    base = batch.base();
    copied = false;
    rowOffset = batch.offset();
    lengthOffset = rowOffset + batch.rowBytes();
    shape(batch.fields());
  }

  /** As {@link #open}, in a copy on the heap; rows that are there already are not copied. */
  void openCopy(DecodedBatch batch) {
    if (batch.base() != null) {
      open(batch);
      copied = true;
      return;
    }
    long bytes = batch.rowBytes() + (long) Integer.BYTES * batch.rows();
    base = new byte[Math.toIntExact(bytes)];
    Platform.copyMemory(null, batch.offset(), base, Platform.BYTE_ARRAY_OFFSET, bytes);
    copied = true;
    rowOffset = Platform.BYTE_ARRAY_OFFSET;
    lengthOffset = rowOffset + batch.rowBytes();
    shape(batch.fields());
  }

  private void shape(int fields) {
    if (row == null || row.numFields() != fields) {
      row = new UnsafeRow(fields);
      pair = new Tuple2<>(0, row);
    }
  }

  /** Points the row at the next record. */
  Product2<Object, UnsafeRow> advance() {
    int length = Platform.getInt(base, lengthOffset);
    lengthOffset += Integer.BYTES;
    row.pointTo(base, rowOffset, length);
    rowOffset += length;
    return pair;
  }

  /** Whether {@link #openCopy} has opened the current batch. */
  boolean readsCopy() {
    return copied;
  }

  /** Points the row at a copy of itself on the heap: the memory that it points into is about to be freed. */
  void keepRow() {
    if (row != null && row.getBaseObject() == null) {
      byte[] copy = row.getBytes();
      row.pointTo(copy, Platform.BYTE_ARRAY_OFFSET, copy.length);
    }
  }
}
