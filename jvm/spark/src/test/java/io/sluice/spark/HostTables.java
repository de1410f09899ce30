package io.sluice.spark;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Iterator;
import java.util.Objects;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Tuple2;

/**
 * Batches in host memory as a columnar plugin for GPUs gives them to Spark's shuffle: slices of tables, each for one
 * partition, that are gone as soon as the next one is asked for.
 */
final class HostTables {
  /** A column of {@code rows} longs, or of strings; its memory is gone after {@link #close}. */
  static final class HostColumn extends ColumnVector {
    private final ByteBuffer nulls;
    private final ByteBuffer offsets;
    private ByteBuffer data;

    /**
     * @param nulls a byte for each row, 1 for null; null if there is none
     * @param offsets of strings, one more than rows; null for longs
     */
    HostColumn(ByteBuffer nulls, ByteBuffer offsets, ByteBuffer data) {
      super(offsets == null ? DataTypes.LongType : DataTypes.StringType);
      this.nulls = nulls;
      this.offsets = offsets;
      this.data = data;
    }

    ByteBuffer nulls() {
      return nulls;
    }

    ByteBuffer offsets() {
      return offsets;
    }

    ByteBuffer data() {
      if (data == null) {
        throw new IllegalStateException("a batch is used after it was closed");
      }
      return data;
    }

    @Override
    public void close() {
      data = null;
    }

    @Override
    public boolean hasNull() {
      return nulls != null;
    }

    @Override
    public int numNulls() {
      int count = 0;
      for (int i = 0; nulls != null && i < nulls.capacity(); i++) {
        count += nulls.get(i);
      }
      return count;
    }

    @Override
    public boolean isNullAt(int row) {
      return nulls != null && nulls.get(row) != 0;
    }

    @Override
    public long getLong(int row) {
      return data().getLong(row * Long.BYTES);
    }

    @Override
    public UTF8String getUTF8String(int row) {
      if (isNullAt(row)) {
        return null;
      }
      int from = offsets.getInt(row * Integer.BYTES);
      byte[] text = new byte[offsets.getInt((row + 1) * Integer.BYTES) - from];
      data().get(from, text);
      return UTF8String.fromBytes(text);
    }

    @Override
    public boolean getBoolean(int row) {
      throw new UnsupportedOperationException();
    }

    @Override
    public byte getByte(int row) {
      throw new UnsupportedOperationException();
    }

    @Override
    public short getShort(int row) {
      throw new UnsupportedOperationException();
    }

    @Override
    public int getInt(int row) {
      throw new UnsupportedOperationException();
    }

    @Override
    public float getFloat(int row) {
      throw new UnsupportedOperationException();
    }

    @Override
    public double getDouble(int row) {
      throw new UnsupportedOperationException();
    }

    @Override
    public ColumnarArray getArray(int row) {
      throw new UnsupportedOperationException();
    }

    @Override
    public ColumnarMap getMap(int row) {
      throw new UnsupportedOperationException();
    }

    @Override
    public Decimal getDecimal(int row, int precision, int scale) {
      throw new UnsupportedOperationException();
    }

    @Override
    public byte[] getBinary(int row) {
      throw new UnsupportedOperationException();
    }

    @Override
    public ColumnVector getChild(int ordinal) {
      throw new UnsupportedOperationException();
    }
  }

  /** In the text of every table that has more than a few rows. */
  static final String TEXT = " and 1";

  private HostTables() {}

  /**
   * Batches of one map task: {@code tables} tables, each cut into a slice for each partition. Of a table some slices
   * have no rows, and some tables no column.
   *
   * @param rows of a slice, about
   */
  static Iterator<Tuple2<Integer, ColumnarBatch>> slices(int map, int tables, int partitions, int rows) {
    return new Iterator<>() {
      private final int all = tables * partitions;
      private int next;
      private ColumnarBatch last;

      @Override
      public boolean hasNext() {
        return next < all;
      }

      @Override
      public Tuple2<Integer, ColumnarBatch> next() {
        if (last != null) {
          last.close();
        }
        int table = next / partitions;
        int partition = next % partitions;
        next++;
        int count = (table + partition) % 5 == 4 ? 0 : rows + (map + partition) % 3;
        last = slice(31L * map + table, table % 7 == 6, partition, count);
        return new Tuple2<>(partition, last);
      }
    };
  }

  private static ColumnarBatch slice(long seed, boolean withoutColumns, int partition, int rows) {
    if (withoutColumns) {
      return new ColumnarBatch(new ColumnVector[0], rows);
    }
    ByteBuffer longs = buffer(rows * Long.BYTES);
    ByteBuffer nulls = buffer(rows);
    ByteBuffer offsets = buffer((rows + 1) * Integer.BYTES);
    StringBuilder text = new StringBuilder();
    for (int row = 0; row < rows; row++) {
      longs.putLong(row * Long.BYTES, seed * 1_000_003 + row * 17L + partition);
      nulls.put(row, (byte) ((row + seed) % 11 == 0 ? 1 : 0));
      if (nulls.get(row) == 0) {
        text.append("of ").append(seed).append(" and ").append(row % 100);
      }
      offsets.putInt((row + 1) * Integer.BYTES, text.length());
    }
    byte[] bytes = text.toString().getBytes(StandardCharsets.US_ASCII);
    ByteBuffer strings = buffer(bytes.length);
    strings.put(0, bytes);
    return new ColumnarBatch(new ColumnVector[] {
      new HostColumn(null, null, longs), new HostColumn(nulls, offsets, strings)}, rows);
  }

  static ByteBuffer buffer(int bytes) {
    return ByteBuffer.allocateDirect(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }

  /** A hash of all values, in their order. */
  static int hash(ColumnarBatch batch) {
    int hash = 1;
    for (int column = 0; column < batch.numCols(); column++) {
      HostColumn values = (HostColumn) batch.column(column);
      for (int row = 0; row < batch.numRows(); row++) {
        boolean isText = values.offsets() != null;
        hash = 31 * hash + (isText ? Objects.hashCode(values.getUTF8String(row)) : Long.hashCode(values.getLong(row)));
      }
    }
    return hash;
  }
}
