package io.sluice.spark.columnar;

import java.math.BigDecimal;
import java.math.BigInteger;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Values of one column of decoded frames: some that follow each other in an Arrow array of a type of {@link
 * BatchTypes}. The array is its owner's: {@link #close} does nothing, and after {@link #end} each read of a value
 * throws. Used by the thread that pulls the task's batches.
 */
final class FrameVector extends ColumnVector {
  private static final int DECIMAL_BYTES = 16;
  private static final int LONG_DIGITS = Decimal.MAX_LONG_DIGITS();

  private final int first;
  /** Addresses; of the mask of nulls 0 when there are none. */
  private final long valid;
  private final long values;
  private final long bytes;
  private int length;

  /**
   * @param column of the structs, which hold its array
   * @param first the first of its values
   * @param length how many there are
   */
  FrameVector(DataType type, ArrowStructs structs, int column, int first, int length) {
    super(type);
    this.first = first;
    this.length = length;
    valid = structs.nulls(column) == 0 ? 0 : structs.buffer(column, 0);
    values = structs.buffer(column, 1);
    bytes = structs.bufferCount(column) > 2 ? structs.buffer(column, 2) : 0;
  }

  /** The array is about to be freed. */
  void end() {
    length = 0;
  }

  /** Nothing: the array is freed when the next batch is asked for, or the task ends. */
  @Override
  public void close() {}

  @Override
  public boolean hasNull() {
    return numNulls() > 0;
  }

  @Override
  public int numNulls() {
    int nulls = 0;
    for (int i = 0; valid != 0 && i < length; i++) {
      nulls += bit(valid, first + i) ? 0 : 1;
    }
    return nulls;
  }

  @Override
  public boolean isNullAt(int row) {
    int at = at(row);
    return valid != 0 && !bit(valid, at);
  }

  @Override
  public boolean getBoolean(int row) {
    return bit(values, at(row));
  }

  @Override
  public byte getByte(int row) {
    return Platform.getByte(null, values + at(row));
  }

  @Override
  public short getShort(int row) {
    return Platform.getShort(null, values + (long) Short.BYTES * at(row));
  }

  @Override
  public int getInt(int row) {
    return Platform.getInt(null, values + (long) Integer.BYTES * at(row));
  }

  @Override
  public long getLong(int row) {
    return Platform.getLong(null, values + (long) Long.BYTES * at(row));
  }

  @Override
  public float getFloat(int row) {
    return Platform.getFloat(null, values + (long) Float.BYTES * at(row));
  }

  @Override
  public double getDouble(int row) {
    return Platform.getDouble(null, values + (long) Double.BYTES * at(row));
  }

  @Override
  public Decimal getDecimal(int row, int precision, int scale) {
    if (isNullAt(row)) {
      return null;
    }
    long address = values + (long) DECIMAL_BYTES * at(row);
    if (((DecimalType) type).precision() <= LONG_DIGITS) {
      return Decimal.createUnsafe(Platform.getLong(null, address), precision, scale);
    }
    byte[] highestFirst = new byte[DECIMAL_BYTES];
    for (int i = 0; i < DECIMAL_BYTES; i++) {
      highestFirst[i] = Platform.getByte(null, address + DECIMAL_BYTES - 1 - i);
    }
    return Decimal.apply(new BigDecimal(new BigInteger(highestFirst), scale), precision, scale);
  }

  /** Points into the array. */
  @Override
  public UTF8String getUTF8String(int row) {
    if (isNullAt(row)) {
      return null;
    }
    int start = offset(row);
    return UTF8String.fromAddress(null, bytes + start, offset(row + 1) - start);
  }

  @Override
  public byte[] getBinary(int row) {
    if (isNullAt(row)) {
      return null;
    }
    int start = offset(row);
    byte[] copy = new byte[offset(row + 1) - start];
    Platform.copyMemory(null, bytes + start, copy, Platform.BYTE_ARRAY_OFFSET, copy.length);
    return copy;
  }

  @Override
  public ColumnarArray getArray(int row) {
    throw nested();
  }

  @Override
  public ColumnarMap getMap(int row) {
    throw nested();
  }

  @Override
  public ColumnVector getChild(int ordinal) {
    throw nested();
  }

  private UnsupportedOperationException nested() {
    return new UnsupportedOperationException("a column of type " + type.catalogString() + " has no values inside");
  }

  /** Where a value's bytes begin; of one behind a value, where that value's end. */
  private int offset(int row) {
    return Platform.getInt(null, values + (long) Integer.BYTES * (first + row));
  }

  private static boolean bit(long address, int at) {
    return (Platform.getByte(null, address + (at >> 3)) >> (at & 7) & 1) != 0;
  }

  private int at(int row) {
    if (row < 0 || row >= length) {
      throw new IndexOutOfBoundsException("value " + row + " of a vector of " + length
          + "; a vector has none once the next batch was asked for, or the task has ended");
    }
    return first + row;
  }
}
