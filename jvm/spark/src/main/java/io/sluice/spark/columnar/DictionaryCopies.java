package io.sluice.spark.columnar;

import java.util.Arrays;
import org.apache.spark.sql.execution.vectorized.WritableColumnVector;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Copies the values of one column's vectors that have a dictionary. Each different value of a batch is looked up once,
 * by its id; the others are copies of it. One thread.
 */
final class DictionaryCopies {
  /**
   * From the first higher id on, values are copied one by one: of so many, few come twice in a batch, and the tables
   * would be long.
   */
  static final int MOST_IDS = 1 << 14;
  /** Bytes of a view, and of a value that lies in one. */
  private static final int VIEW_BYTES = 16;
  private static final int INLINE_BYTES = 12;

  private final ValueLayout layout;
  private final int width;
  /** Counts batches, so that the table need not be cleared for each. */
  private int batch;
  /** For each id, the batch in which its value was looked up last. */
  private int[] lookedUpIn = new int[0];
  /** For each id, the value's bits, or the first half of its view. */
  private long[] values = new long[0];
  private long[] secondHalves = new long[0];
  private boolean hadHigherIds;

  /** @param width bytes of a value where it is copied to */
  DictionaryCopies(ValueLayout layout, int width) {
    this.layout = layout;
    this.width = width;
  }

  /** Whether to try it with this vector. */
  boolean isFor(WritableColumnVector vector) {
    return vector.hasDictionary() && !hadHigherIds && layout != ValueLayout.BOOLEAN
        && layout != ValueLayout.WIDE_DECIMAL;
  }

  /**
   * Copies values that have a width.
   *
   * @return false when ids are too high: what has been written is to be written again
   */
  boolean copyNumbers(WritableColumnVector vector, int rows, long mask, long to) {
    int[] ids = startBatch(vector, rows);
    for (int i = 0; i < rows; i++) {
      if (ValueCopies.isValid(mask, i)) {
        int id = ids[i];
        if (!hasRoomFor(id)) {
          return false;
        }
        if (lookedUpIn[id] != batch) {
          values[id] = bits(vector, i);
          lookedUpIn[id] = batch;
        }
        put(to + (long) i * width, values[id]);
      }
    }
    return true;
  }

  private int[] startBatch(WritableColumnVector vector, int rows) {
    batch++;
    return vector.getDictionaryIds().getInts(0, rows);
  }

  private boolean hasRoomFor(int id) {
    if (id >= 0 && id < lookedUpIn.length) {
      return true;
    }
    if (id < 0 || id >= MOST_IDS) {
      hadHigherIds = true;
      return false;
    }
    int length = Math.min(MOST_IDS, Math.max(id + 1, 2 * lookedUpIn.length));
    lookedUpIn = Arrays.copyOf(lookedUpIn, length);
    values = Arrays.copyOf(values, length);
    if (layout.isVariable()) {
      secondHalves = Arrays.copyOf(secondHalves, length);
    }
    return true;
  }

  private long bits(WritableColumnVector vector, int row) {
    return switch (layout) {
      case BYTE -> vector.getByte(row);
      case SHORT -> vector.getShort(row);
      case INT, INT_DECIMAL -> vector.getInt(row);
      case LONG, LONG_DECIMAL -> vector.getLong(row);
      case FLOAT -> Float.floatToRawIntBits(vector.getFloat(row));
      case DOUBLE -> Double.doubleToRawLongBits(vector.getDouble(row));
      default -> throw new IllegalStateException("values of " + layout + " are no numbers");
    };
  }

  private void put(long at, long bits) {
    switch (width) {
      case Byte.BYTES -> Platform.putByte(null, at, (byte) bits);
      case Short.BYTES -> Platform.putShort(null, at, (short) bits);
      case Integer.BYTES -> Platform.putInt(null, at, (int) bits);
      default -> Platform.putLong(null, at, bits);
    }
  }

  /**
   * Copies values with lengths of their own: writes Arrow's views of them, and the bytes of those that are longer than
   * {@link #INLINE_BYTES} to {@code data}.
   *
   * @return how many bytes of {@code data} there are; -1 when ids are too high, there is no memory at once, or the
   *     bytes are too many
   */
  long copyViews(WritableColumnVector vector, int rows, long mask, long views, CopyBuffer data) {
    int[] ids = startBatch(vector, rows);
    long used = 0;
    for (int i = 0; i < rows; i++) {
      if (ValueCopies.isValid(mask, i)) {
        int id = ids[i];
        if (!hasRoomFor(id)) {
          return -1;
        }
        long view = views + (long) i * VIEW_BYTES;
        if (lookedUpIn[id] == batch) {
          Platform.putLong(null, view, values[id]);
          Platform.putLong(null, view + Long.BYTES, secondHalves[id]);
        } else {
          used = writeView(vector.getUTF8String(i), view, used, data);
          if (used < 0) {
            return -1;
          }
          values[id] = Platform.getLong(null, view);
          secondHalves[id] = Platform.getLong(null, view + Long.BYTES);
          lookedUpIn[id] = batch;
        }
      }
    }
    return used;
  }

  /** Returns how many bytes of {@code data} are used then; -1 when there is no memory at once. */
  private static long writeView(UTF8String value, long view, long used, CopyBuffer data) {
    int bytes = value.numBytes();
    Platform.putLong(null, view, bytes);
    Platform.putLong(null, view + Long.BYTES, 0);
    if (bytes <= INLINE_BYTES) {
      value.writeToMemory(null, view + Integer.BYTES);
      return used;
    }
    if (!data.tryEnsure(used, used + bytes)) {
      return -1;
    }
    // The first four bytes, number 0 of the buffer, and the place in it.
    Platform.putInt(null, view + Integer.BYTES, Platform.getInt(value.getBaseObject(), value.getBaseOffset()));
    Platform.putInt(null, view + VIEW_BYTES - Integer.BYTES, (int) used);
    value.writeToMemory(null, data.address() + used);
    return used + bytes;
  }
}
