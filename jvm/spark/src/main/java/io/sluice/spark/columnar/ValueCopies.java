package io.sluice.spark.columnar;

import java.math.BigInteger;
import org.apache.spark.sql.execution.vectorized.WritableColumnVector;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Copies values of one layout from vectors to buffers as Arrow's arrays have them. Values that are null are not read;
 * what is in their place is anything.
 */
final class ValueCopies {
  private final ValueLayout layout;
  private final int precision;
  private final int scale;
  private final String formatOfEach;

  ValueCopies(ValueLayout layout, DataType type) {
    this.layout = layout;
    this.precision = type instanceof DecimalType decimal ? decimal.precision() : 0;
    this.scale = type instanceof DecimalType decimal ? decimal.scale() : 0;
    this.formatOfEach = layout == ValueLayout.INT_DECIMAL ? ValueLayout.LONG_DECIMAL.format(type) : layout.format(type);
  }

  /** The format of what {@link #copyEach} writes: all decimals of up to 18 digits in 8 bytes. */
  String formatOfEach() {
    return formatOfEach;
  }

  /** The most bytes of a value that any of the methods writes. */
  int width() {
    return layout == ValueLayout.INT_DECIMAL ? Long.BYTES : layout.width();
  }

  /**
   * Writes a bit for each value, the lowest first: 1 unless it is null.
   *
   * @return how many are null
   */
  static int mask(ColumnVector vector, int rows, long mask) {
    int nulls = 0;
    for (int from = 0; from < rows; from += Long.SIZE) {
      int until = Math.min(rows, from + Long.SIZE);
      long bits = 0;
      for (int i = from; i < until; i++) {
        if (vector.isNullAt(i)) {
          nulls++;
        } else {
          bits |= 1L << i;
        }
      }
      Platform.putLong(null, mask + from / Byte.SIZE, bits);
    }
    return nulls;
  }

  /** @param mask of {@link #mask}; 0 when no value is null */
  static boolean isValid(long mask, int row) {
    return mask == 0 || (Platform.getByte(null, mask + (row >>> 3)) >>> (row & 7) & 1) != 0;
  }

  /** Whether Spark's own vectors have the values as Arrow's arrays do. */
  boolean areWhole() {
    return layout != ValueLayout.BOOLEAN && layout != ValueLayout.WIDE_DECIMAL && !layout.isVariable();
  }

  /** Copies the values of a vector that {@link #areWhole} and has no dictionary, nulls' places too. */
  void copyWhole(WritableColumnVector vector, int rows, long to) {
    switch (layout) {
      case BYTE -> copy(vector.getBytes(0, rows), Platform.BYTE_ARRAY_OFFSET, rows, to);
      case SHORT -> copy(vector.getShorts(0, rows), Platform.SHORT_ARRAY_OFFSET, rows, to);
      case INT, INT_DECIMAL -> copy(vector.getInts(0, rows), Platform.INT_ARRAY_OFFSET, rows, to);
      case LONG, LONG_DECIMAL -> copy(vector.getLongs(0, rows), Platform.LONG_ARRAY_OFFSET, rows, to);
      case FLOAT -> copy(vector.getFloats(0, rows), Platform.FLOAT_ARRAY_OFFSET, rows, to);
      case DOUBLE -> copy(vector.getDoubles(0, rows), Platform.DOUBLE_ARRAY_OFFSET, rows, to);
      default -> throw new IllegalStateException("values of " + layout + " are not whole");
    }
  }

  private void copy(Object values, long offset, int rows, long to) {
    Platform.copyMemory(values, offset, null, to, (long) rows * layout.width());
  }

  /**
   * Copies value by value.
   *
   * @param stored whether decimals are stored as Spark's own vectors store them
   * @return false when a value has no place in an array
   */
  boolean copyEach(ColumnVector vector, boolean stored, int rows, long mask, long to) {
    switch (layout) {
      case BOOLEAN -> copyBooleans(vector, rows, mask, to);
      case BYTE -> copyBytesOfOne(vector, rows, mask, to);
      case SHORT -> copyShorts(vector, rows, mask, to);
      case INT -> copyInts(vector, rows, mask, to);
      case LONG -> copyLongs(vector, rows, mask, to);
      case FLOAT -> copyFloats(vector, rows, mask, to);
      case DOUBLE -> copyDoubles(vector, rows, mask, to);
      case INT_DECIMAL, LONG_DECIMAL -> {
        return copyDecimals(vector, stored, rows, mask, to);
      }
      case WIDE_DECIMAL -> {
        return copyWideDecimals(vector, rows, mask, to);
      }
      default -> throw new IllegalStateException("values of " + layout + " have no width");
    }
    return true;
  }

  private static void copyBooleans(ColumnVector vector, int rows, long mask, long to) {
    for (int from = 0; from < rows; from += Long.SIZE) {
      int until = Math.min(rows, from + Long.SIZE);
      long bits = 0;
      for (int i = from; i < until; i++) {
        if (isValid(mask, i) && vector.getBoolean(i)) {
          bits |= 1L << i;
        }
      }
      Platform.putLong(null, to + from / Byte.SIZE, bits);
    }
  }

  private static void copyBytesOfOne(ColumnVector vector, int rows, long mask, long to) {
    for (int i = 0; i < rows; i++) {
      if (isValid(mask, i)) {
        Platform.putByte(null, to + i, vector.getByte(i));
      }
    }
  }

  private static void copyShorts(ColumnVector vector, int rows, long mask, long to) {
    for (int i = 0; i < rows; i++) {
      if (isValid(mask, i)) {
        Platform.putShort(null, to + (long) i * Short.BYTES, vector.getShort(i));
      }
    }
  }

  private static void copyInts(ColumnVector vector, int rows, long mask, long to) {
    for (int i = 0; i < rows; i++) {
      if (isValid(mask, i)) {
        Platform.putInt(null, to + (long) i * Integer.BYTES, vector.getInt(i));
      }
    }
  }

  private static void copyLongs(ColumnVector vector, int rows, long mask, long to) {
    for (int i = 0; i < rows; i++) {
      if (isValid(mask, i)) {
        Platform.putLong(null, to + (long) i * Long.BYTES, vector.getLong(i));
      }
    }
  }

  private static void copyFloats(ColumnVector vector, int rows, long mask, long to) {
    for (int i = 0; i < rows; i++) {
      if (isValid(mask, i)) {
        Platform.putFloat(null, to + (long) i * Float.BYTES, vector.getFloat(i));
      }
    }
  }

  private static void copyDoubles(ColumnVector vector, int rows, long mask, long to) {
    for (int i = 0; i < rows; i++) {
      if (isValid(mask, i)) {
        Platform.putDouble(null, to + (long) i * Double.BYTES, vector.getDouble(i));
      }
    }
  }

  private boolean copyDecimals(ColumnVector vector, boolean stored, int rows, long mask, long to) {
    for (int i = 0; i < rows; i++) {
      if (isValid(mask, i)) {
        long unscaled;
        if (stored) {
          unscaled = layout == ValueLayout.INT_DECIMAL ? vector.getInt(i) : vector.getLong(i);
        } else {
          Decimal value = decimal(vector, i);
          if (value == null) {
            return false;
          }
          unscaled = value.toUnscaledLong();
        }
        Platform.putLong(null, to + (long) i * Long.BYTES, unscaled);
      }
    }
    return true;
  }

  /** Of the type's precision and scale; null where there is none, which Spark's writer of rows makes a null. */
  private Decimal decimal(ColumnVector vector, int row) {
    Decimal value = vector.getDecimal(row, precision, scale);
    return value != null && value.changePrecision(precision, scale) ? value : null;
  }

  private boolean copyWideDecimals(ColumnVector vector, int rows, long mask, long to) {
    for (int i = 0; i < rows; i++) {
      if (isValid(mask, i)) {
        Decimal value = decimal(vector, i);
        BigInteger unscaled = value == null ? null : value.toJavaBigDecimal().unscaledValue();
        if (unscaled == null || unscaled.bitLength() > 2 * Long.SIZE - 1) {
          return false;
        }
        long at = to + (long) i * layout.width();
        Platform.putLong(null, at, unscaled.longValue());
        Platform.putLong(null, at + Long.BYTES, unscaled.shiftRight(Long.SIZE).longValue());
      }
    }
    return true;
  }

  /**
   * Copies bytes of values with lengths of their own, one value behind the other, and their offsets.
   *
   * @return false when there is no memory for them at once, or they are too many
   */
  boolean copyBytes(ColumnVector vector, int rows, long mask, long offsets, CopyBuffer data) {
    long used = 0;
    Platform.putInt(null, offsets, 0);
    for (int i = 0; i < rows; i++) {
      if (isValid(mask, i)) {
        if (layout == ValueLayout.TEXT) {
          UTF8String text = vector.getUTF8String(i);
          int bytes = text.numBytes();
          if (!data.tryEnsure(used, used + bytes)) {
            return false;
          }
          text.writeToMemory(null, data.address() + used);
          used += bytes;
        } else {
          byte[] bytes = vector.getBinary(i);
          if (!data.tryEnsure(used, used + bytes.length)) {
            return false;
          }
          Platform.copyMemory(bytes, Platform.BYTE_ARRAY_OFFSET, null, data.address() + used, bytes.length);
          used += bytes.length;
        }
      }
      Platform.putInt(null, offsets + (i + 1L) * Integer.BYTES, (int) used);
    }
    return true;
  }
}
