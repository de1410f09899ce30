package io.sluice.spark.columnar;

import io.sluice.spark.SluiceException;
import io.sluice.spark.decode.ReadMemory;
import java.nio.charset.StandardCharsets;
import org.apache.arrow.vector.FieldVector;
import org.apache.spark.sql.execution.vectorized.OffHeapColumnVector;
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector;
import org.apache.spark.sql.execution.vectorized.WritableColumnVector;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Describes one column of each batch as an Arrow array.
 *
 * <ul> <li>Arrow's vectors and fixed-width values of off-heap vectors stay where they are.<li>On-heap vectors are
 * copied as a whole, bytes of strings too where they lie one behind the other.<li>Values of dictionaries are looked up
 * once a batch.<li>Booleans, wide decimals and vectors of other classes are read value by value, by the methods that
 * Spark's generated code calls. </ul>
 *
 * One thread.
 */
final class ColumnExport {
  /** Of a column: the format string, the addresses of four buffers, and the one that has lengths of buffers. */
  static final long HEADER_BYTES = 80;
  private static final int BUFFERS_AT = 40;
  private static final int LENGTHS_AT = 72;
  private static final int FIXED_BUFFERS = 2;
  private static final int VARIABLE_BUFFERS = 3;
  private static final int VIEW_BUFFERS = 4;
  private static final int VIEW_BYTES = 16;
  private static final long UNKNOWN_NULLS = -1;

  private final int ordinal;
  private final StructField field;
  private final ValueLayout layout;
  private final ValueCopies copies;
  private final DictionaryCopies dictionaries;
  private final long header;
  /** Of values with lengths of their own. */
  private final CopyBuffer data;
  private String format = "";
  /** Of the last vector, as the two below. */
  private ColumnPath.Way way;
  private boolean masked;
  private Class<?> vectorClass;
  /** The last one that was asked for; those who remember it then remember few objects. */
  private ColumnPath path;

  /** @param header address of {@link #HEADER_BYTES} bytes, which stay */
  ColumnExport(int ordinal, StructField field, ValueLayout layout, long header, ReadMemory memory) {
    this.ordinal = ordinal;
    this.field = field;
    this.layout = layout;
    this.copies = new ValueCopies(layout, field.dataType());
    this.dictionaries = new DictionaryCopies(layout, copies.width());
    this.header = header;
    this.data = new CopyBuffer(memory);
  }

  /** Bytes that {@link #export} needs for so many rows: a mask, then values, offsets or views. A multiple of 8. */
  long fixedBytes(int rows) {
    return maskBytes(rows)
        + (layout.isVariable() ? roundUp(Math.max((rows + 1L) * Integer.BYTES, (long) rows * VIEW_BYTES))
            : layout == ValueLayout.BOOLEAN ? maskBytes(rows) : roundUp((long) rows * copies.width()));
  }

  private static long maskBytes(int rows) {
    return ((long) rows + Long.SIZE - 1) / Long.SIZE * Long.BYTES;
  }

  private static long roundUp(long bytes) {
    return (bytes + Long.BYTES - 1) / Long.BYTES * Long.BYTES;
  }

  /**
   * Writes the column's structs.
   *
   * @param at {@link #fixedBytes} bytes, which stay until the batch has been closed
   * @return false when the batch must go by rows
   */
  boolean export(ColumnVector vector, int rows, long at, ArrowStructs structs) {
    data.freeIfLarge();
    vectorClass = vector.getClass();
    try {
      // Subclasses may give other values than their buffers have.
      if (vector.getClass() == ArrowColumnVector.class) {
        FieldVector arrow = ArrowVectors.of((ArrowColumnVector) vector, field, layout, rows);
        if (arrow != null) {
          describeArrow(structs, arrow, rows);
          return true;
        }
      }
      return copy(vector, ofSpark(vector, rows), rows, at, structs);
    } catch (NullPointerException e) {
      // What Spark's vectors throw when they were closed.
      throw new SluiceException(name() + " has no values: the batch was closed, or its "
          + vector.getClass().getSimpleName() + " was never filled", e);
    } catch (IndexOutOfBoundsException e) {
      throw new SluiceException(
          name() + " has fewer values than the batch, which has " + rows + " rows, or the batch was "
              + "closed: " + vector.getClass().getSimpleName() + " says " + e.getMessage(),
          e);
    }
  }

  /** How the vector that was exported last came into an array. */
  ColumnPath path() {
    if (path == null || path.way() != way || path.nulls() != masked || path.vector() != vectorClass) {
      path = new ColumnPath(way, masked, vectorClass);
    }
    return path;
  }

  /** Frees what values were copied to; nobody reads the array any more. */
  void freeCopies() {
    data.close();
  }

  private String name() {
    return "column " + ordinal + " ('" + field.name() + "') of a batch";
  }

  private void describeArrow(ArrowStructs structs, FieldVector arrow, int rows) {
    way = ColumnPath.Way.IN_PLACE;
    long mask = arrow.getNullCount() > 0 ? arrow.getValidityBufferAddress() : 0;
    if (layout.isVariable()) {
      describeVariable(structs, rows, mask, arrow.getOffsetBufferAddress(), arrow.getDataBufferAddress());
    } else {
      describeFixed(structs, BatchTypes.format(field.dataType()), rows, mask, arrow.getDataBufferAddress());
    }
  }

  /** The vector as one whose memory is known; null for others. */
  private WritableColumnVector ofSpark(ColumnVector vector, int rows) {
    if (vector.getClass() != OnHeapColumnVector.class && vector.getClass() != OffHeapColumnVector.class) {
      return null;
    }
    WritableColumnVector own = (WritableColumnVector) vector;
    ValueLayout have = ValueLayout.of(own.dataType()).orElse(null);
    if (have == null || !have.liesAs(layout)) {
      if (own.hasDictionary() || own.isAllNull()) {
        // Spark's code asks the dictionary for values of the plan's type, and of nulls for none.
        return null;
      }
      throw new SluiceException(name() + " has values of " + own.dataType().simpleString() + ", and the plan "
          + field.dataType().simpleString());
    }
    if (!own.isAllNull()) {
      checkRoom(own, rows);
    }
    return own;
  }

  private void checkRoom(WritableColumnVector own, int rows) {
    if (isClosed(own)) {
      throw new SluiceException(name() + " has no values: the batch was closed");
    }
    int room = VectorCapacity.of(own);
    if (own.hasDictionary()) {
      room = Math.min(room, VectorCapacity.of(own.getDictionaryIds()));
    }
    if (room < rows) {
      throw new SluiceException(name() + " has room for " + room + " values, and the batch has " + rows + " rows");
    }
  }

  /** Off-heap memory must not be read then. Where bytes are in a child, it is gone too. */
  private boolean isClosed(WritableColumnVector own) {
    if (layout.isVariable() || layout == ValueLayout.WIDE_DECIMAL) {
      return own.arrayData() == null;
    }
    return own instanceof OffHeapColumnVector offHeap && !own.hasDictionary() && offHeap.valuesNativeAddress() == 0;
  }

  /** @param own the same vector; null unless its memory is known */
  private boolean copy(ColumnVector vector, WritableColumnVector own, int rows, long at, ArrowStructs structs) {
    // Spark's code does not ask whether values of such columns are null.
    boolean mayHaveNulls = field.nullable() && (own == null || own.hasNull());
    int nulls = mayHaveNulls ? ValueCopies.mask(vector, rows, at) : 0;
    long mask = nulls == 0 ? 0 : at;
    long values = at + maskBytes(rows);
    boolean allNull = nulls == rows;
    if (layout.isVariable()) {
      if (allNull) {
        way = ColumnPath.Way.NO_VALUES;
        Platform.setMemory(null, values, (rows + 1L) * Integer.BYTES, (byte) 0);
        describeVariable(structs, rows, mask, values, 0);
        return true;
      }
      return copyBytes(vector, own, rows, mask, values, structs);
    }
    boolean whole = own != null && !own.hasDictionary() && copies.areWhole();
    way = allNull ? ColumnPath.Way.NO_VALUES : ColumnPath.Way.WHOLE;
    if (whole && own instanceof OffHeapColumnVector offHeap && !allNull) {
      way = ColumnPath.Way.IN_PLACE;
      describeFixed(structs, layout.format(field.dataType()), rows, mask, offHeap.valuesNativeAddress());
      return true;
    }
    if (!allNull) {
      if (whole) {
        copies.copyWhole(own, rows, values);
      } else if (!copyFixed(vector, own, rows, mask, values)) {
        return false;
      }
    }
    describeFixed(structs, whole ? layout.format(field.dataType()) : copies.formatOfEach(), rows, mask, values);
    return true;
  }

  private boolean copyFixed(ColumnVector vector, WritableColumnVector own, int rows, long mask, long values) {
    if (own != null && dictionaries.isFor(own) && dictionaries.copyNumbers(own, rows, mask, values)) {
      way = ColumnPath.Way.DICTIONARY;
      return true;
    }
    way = ColumnPath.Way.VALUE_BY_VALUE;
    return copies.copyEach(vector, own != null, rows, mask, values);
  }

  private boolean copyBytes(ColumnVector vector, WritableColumnVector own, int rows, long mask, long offsets,
      ArrowStructs structs) {
    if (own != null && dictionaries.isFor(own)) {
      long used = dictionaries.copyViews(own, rows, mask, offsets, data);
      if (used >= 0) {
        way = ColumnPath.Way.DICTIONARY;
        describeViews(structs, rows, mask, offsets, used);
        return true;
      }
    }
    long bytes = own == null || own.hasDictionary() ? -1 : contiguousBytes(own, rows, mask, offsets);
    if (bytes < 0) {
      way = ColumnPath.Way.VALUE_BY_VALUE;
      if (!copies.copyBytes(vector, rows, mask, offsets, data)) {
        return false;
      }
      describeVariable(structs, rows, mask, offsets, data.address());
      return true;
    }
    long address = 0;
    way = ColumnPath.Way.WHOLE;
    if (bytes > 0) {
      UTF8String first = firstValue(own, rows, mask);
      if (first.getBaseObject() == null) {
        way = ColumnPath.Way.IN_PLACE;
        address = first.getBaseOffset();
      } else {
        if (!data.tryEnsure(0, bytes)) {
          return false;
        }
        address = data.address();
        Platform.copyMemory(first.getBaseObject(), first.getBaseOffset(), null, address, bytes);
      }
    }
    describeVariable(structs, rows, mask, offsets, address);
    return true;
  }

  /**
   * Writes the offsets of values that lie one behind the other.
   *
   * @return how many bytes they are together; -1 when they do not lie so
   */
  private static long contiguousBytes(WritableColumnVector own, int rows, long mask, long offsets) {
    long start = -1;
    long end = 0;
    Platform.putInt(null, offsets, 0);
    for (int i = 0; i < rows; i++) {
      if (ValueCopies.isValid(mask, i)) {
        int at = own.getArrayOffset(i);
        if (start < 0) {
          start = at;
          end = at;
        } else if (at != end) {
          return -1;
        }
        end += own.getArrayLength(i);
      }
      Platform.putInt(null, offsets + (i + 1L) * Integer.BYTES, start < 0 ? 0 : (int) (end - start));
    }
    return end - Math.max(0, start);
  }

  /** A string whatever the type: where its bytes are is all that is asked of it. */
  private static UTF8String firstValue(WritableColumnVector own, int rows, long mask) {
    int first = 0;
    while (first < rows && !ValueCopies.isValid(mask, first)) {
      first++;
    }
    return own.getUTF8String(first);
  }

  private void describeFixed(ArrowStructs structs, String type, int rows, long mask, long values) {
    Platform.putLong(null, header + BUFFERS_AT + Long.BYTES, values);
    describe(structs, type, rows, mask, FIXED_BUFFERS);
  }

  private void describeVariable(ArrowStructs structs, int rows, long mask, long offsets, long bytes) {
    Platform.putLong(null, header + BUFFERS_AT + Long.BYTES, offsets);
    Platform.putLong(null, header + BUFFERS_AT + 2 * Long.BYTES, bytes);
    describe(structs, layout.format(field.dataType()), rows, mask, VARIABLE_BUFFERS);
  }

  private void describeViews(ArrowStructs structs, int rows, long mask, long views, long bytes) {
    Platform.putLong(null, header + BUFFERS_AT + Long.BYTES, views);
    Platform.putLong(null, header + BUFFERS_AT + 2 * Long.BYTES, data.address());
    Platform.putLong(null, header + BUFFERS_AT + 3 * Long.BYTES, header + LENGTHS_AT);
    Platform.putLong(null, header + LENGTHS_AT, bytes);
    describe(structs, "v" + layout.format(field.dataType()), rows, mask, VIEW_BUFFERS);
  }

  /** The buffers behind the mask have been written to the header. */
  private void describe(ArrowStructs structs, String type, int rows, long mask, int buffers) {
    masked = mask != 0;
    Platform.putLong(null, header + BUFFERS_AT, mask);
    if (!type.equals(format)) {
      byte[] text = (type + '\0').getBytes(StandardCharsets.US_ASCII);
      Platform.copyMemory(text, Platform.BYTE_ARRAY_OFFSET, null, header, text.length);
      format = type;
    }
    structs.describe(ordinal, header, rows, mask == 0 ? 0 : UNKNOWN_NULLS, header + BUFFERS_AT, buffers);
  }
}
