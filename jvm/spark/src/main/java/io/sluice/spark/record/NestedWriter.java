package io.sluice.spark.record;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.sql.Timestamp;
import java.time.Instant;
import java.time.LocalDate;
import java.util.Arrays;
import java.util.Date;
import org.apache.hadoop.io.BooleanWritable;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.DoubleWritable;
import org.apache.hadoop.io.FloatWritable;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.spark.unsafe.Platform;
import scala.Option;
import scala.Product;
import scala.collection.Iterator;
import scala.collection.Seq;
import scala.math.BigInt;

/**
 * Writes the parts of a record that are {@link PartType#NESTED}, one behind the other: {@link NestedTag} says how.
 * {@link NestedReader} reads them. One thread.
 */
final class NestedWriter {
  private static final int FIRST_BYTES = 256;
  private static final int KEEP_BYTES = 1 << 20;
  private static final int NUMBER_BITS = 7;
  private static final int NUMBER_MASK = (1 << NUMBER_BITS) - 1;
  private static final int MORE = 1 << NUMBER_BITS;
  /** Bytes of the longest number. */
  private static final int MOST_NUMBER_BYTES = 10;
  /** A longer string is not written twice where a record refers to it twice. */
  private static final int LONG_TEXT = 256;

  private final NestedClasses classes;
  private final SharedObjects shared = new SharedObjects();
  private byte[] array = new byte[FIRST_BYTES];
  private int size;

  NestedWriter(NestedClasses classes) {
    this.classes = classes;
  }

  /** Starts a record. */
  void start() {
    size = 0;
    if (array.length > KEEP_BYTES) {
      array = new byte[FIRST_BYTES];
    }
    shared.clear();
  }

  /**
   * Writes a part of the record behind those before it.
   *
   * @return false when it holds a class without a tag, or one that the serializer would not write as such; refers to an
   *         object twice; is nested deeper than {@link NestedTag#MOST_DEPTH}; or is too large for a row
   */
  boolean write(Object part) {
    return value(part, 0);
  }

  /** Notes an array that is a flat part of the record; false if the record refers to it twice. */
  boolean noteFlat(Object array) {
    return shared.add(array);
  }

  /** The key's parts are written, the value's follow. */
  void endKey() {
    if (!classes.keyAndValueShareObjects()) {
      shared.clear();
    }
  }

  /** Holds the parts. */
  byte[] array() {
    return array;
  }

  /** Bytes written since {@link #start}. */
  int size() {
    return size;
  }

  /** Writes a value that is within {@code depth} others; false as {@link #write}. */
  boolean value(Object value, int depth) {
    int tag = NestedTag.of(value);
    if (tag == NestedTag.UNKNOWN || depth > NestedTag.MOST_DEPTH || size > RecordEncoder.MAX_ROW_BYTES
        || !classes.allow(tag, value)
        || NestedTag.hasIdentity(tag, value) && !shared.add(value)) {
      return false;
    }
    return switch (tag) {
      case NestedTag.LATIN1 -> text((String) value);
      case NestedTag.INTEGER, NestedTag.LONG -> signed(tag, ((Number) value).longValue());
      case NestedTag.SOME -> tag(tag) && value(((Option<?>) value).get(), depth + 1);
      case NestedTag.TUPLE2, NestedTag.SPECIALIZED, NestedTag.TUPLE3, NestedTag.TUPLE4, NestedTag.TUPLE5 ->
          tag(tag) && parts((Product) value, depth + 1);
      case NestedTag.TUPLE ->
          tag(tag) && number(((Product) value).productArity()) && parts((Product) value, depth + 1);
      case NestedTag.LIST, NestedTag.VECTOR, NestedTag.ARRAY_BUFFER -> sequence(tag, (Seq<?>) value, depth + 1);
      case NestedTag.STRINGS, NestedTag.OBJECTS -> objects(tag, (Object[]) value, depth + 1);
      default -> tag < NestedTag.NONE ? scalar(tag, value) : tag < NestedTag.ARRAY ? other(tag, value)
          : tag(tag) && NestedForms.of(tag).write(this, value, depth + 1);
    };
  }

  private boolean parts(Product tuple, int depth) {
    for (int i = 0; i < tuple.productArity(); i++) {
      if (!value(tuple.productElement(i), depth)) {
        return false;
      }
    }
    return true;
  }

  private boolean sequence(int tag, Seq<?> elements, int depth) {
    return tag(tag) && values(elements.length(), elements.iterator(), depth);
  }

  /** Writes a number of values, and them. */
  boolean values(int count, Iterator<?> values, int depth) {
    number(count);
    while (values.hasNext()) {
      if (!value(values.next(), depth)) {
        return false;
      }
    }
    return true;
  }

  private boolean objects(int tag, Object[] elements, int depth) {
    tag(tag);
    number(elements.length);
    for (Object element : elements) {
      if (!value(element, depth)) {
        return false;
      }
    }
    return true;
  }

  private boolean scalar(int tag, Object value) {
    switch (tag) {
      case NestedTag.NULL, NestedTag.UNIT -> tag(tag);
      case NestedTag.TRUE -> tag((Boolean) value ? NestedTag.TRUE : NestedTag.FALSE);
      case NestedTag.BYTE -> word(tag, (Byte) value, Byte.BYTES);
      case NestedTag.SHORT -> word(tag, (Short) value, Short.BYTES);
      case NestedTag.CHARACTER -> word(tag, (Character) value, Short.BYTES);
      case NestedTag.FLOAT -> word(tag, Float.floatToRawIntBits((Float) value), Integer.BYTES);
      case NestedTag.DOUBLE -> word(tag, Double.doubleToRawLongBits((Double) value), Long.BYTES);
      default -> {
        return primitives(tag, value);
      }
    }
    return true;
  }

  private boolean primitives(int tag, Object elements) {
    int count = java.lang.reflect.Array.getLength(elements);
    return slice(tag, count, elements, NestedTag.elementsAt(tag), (long) count * NestedTag.elementBytes(tag));
  }

  /** Writes a tag, a count, and {@code bytes} that it counts. */
  private boolean slice(int tag, int count, Object base, long offset, long bytes) {
    if (bytes > RecordEncoder.MAX_ROW_BYTES) {
      return false;
    }
    tag(tag);
    number(count);
    reserve((int) bytes);
    Platform.copyMemory(base, offset, array, Platform.BYTE_ARRAY_OFFSET + size, bytes);
    size += (int) bytes;
    return true;
  }

  private boolean other(int tag, Object value) {
    return switch (tag) {
      case NestedTag.NONE, NestedTag.NIL, NestedTag.NULL_WRITABLE -> tag(tag);
      case NestedTag.BIG_INTEGER -> bytes(tag, ((BigInteger) value).toByteArray());
      case NestedTag.BIG_INT -> bytes(tag, ((BigInt) value).bigInteger().toByteArray());
      case NestedTag.BIG_DECIMAL -> signed(tag, ((BigDecimal) value).scale())
          && body(((BigDecimal) value).unscaledValue().toByteArray());
      case NestedTag.DATE -> signed(tag, ((Date) value).getTime());
      case NestedTag.TIMESTAMP -> signed(tag, ((Timestamp) value).getTime()) && number(((Timestamp) value).getNanos());
      case NestedTag.LOCAL_DATE -> signed(tag, ((LocalDate) value).toEpochDay());
      case NestedTag.INSTANT -> signed(tag, ((Instant) value).getEpochSecond()) && number(((Instant) value).getNano());
      default -> writable(tag, value);
    };
  }

  private boolean writable(int tag, Object value) {
    return switch (tag) {
      case NestedTag.TEXT -> slice(tag, ((Text) value).getLength(), ((Text) value).getBytes(),
          Platform.BYTE_ARRAY_OFFSET, ((Text) value).getLength());
      case NestedTag.BYTES_WRITABLE -> slice(tag, ((BytesWritable) value).getLength(),
          ((BytesWritable) value).getBytes(), Platform.BYTE_ARRAY_OFFSET, ((BytesWritable) value).getLength());
      case NestedTag.INT_WRITABLE -> signed(tag, ((IntWritable) value).get());
      case NestedTag.LONG_WRITABLE -> signed(tag, ((LongWritable) value).get());
      case NestedTag.FLOAT_WRITABLE -> word(tag, Float.floatToRawIntBits(((FloatWritable) value).get()), Integer.BYTES);
      case NestedTag.DOUBLE_WRITABLE ->
          word(tag, Double.doubleToRawLongBits(((DoubleWritable) value).get()), Long.BYTES);
      case NestedTag.BOOLEAN_WRITABLE -> word(tag, ((BooleanWritable) value).get() ? 1 : 0, Byte.BYTES);
      default -> throw new IllegalStateException("tag " + tag);
    };
  }

  private boolean bytes(int tag, byte[] bytes) {
    return tag(tag) && body(bytes);
  }

  /** Writes a number of bytes, and them. */
  boolean body(byte[] bytes) {
    number(bytes.length);
    reserve(bytes.length);
    System.arraycopy(bytes, 0, array, size, bytes.length);
    size += bytes.length;
    return size <= RecordEncoder.MAX_ROW_BYTES;
  }

  @SuppressWarnings("deprecation") // The method that drops the high bytes: when there are any, its result is dropped.
  private boolean text(String text) {
    int n = text.length();
    if (n > RecordEncoder.MAX_ROW_BYTES || n > LONG_TEXT && !shared.add(text)) {
      return false;
    }
    if (!isLatin1(text)) {
      return utf16(text);
    }
    tag(NestedTag.LATIN1);
    number(n);
    reserve(n);
    text.getBytes(0, n, array, size);
    size += n;
    return true;
  }

  private static boolean isLatin1(String text) {
    int all = 0;
    for (int i = 0; i < text.length(); i++) {
      all |= text.charAt(i);
    }
    return all <= 0xFF;
  }

  private boolean utf16(String text) {
    char[] characters = text.toCharArray();
    return slice(NestedTag.UTF16, characters.length, characters, RecordEncoder.CHAR_ARRAY_OFFSET,
        (long) characters.length * Character.BYTES);
  }

  /** Which classes the serializer gives back. */
  NestedClasses classes() {
    return classes;
  }

  /** Writes a byte. */
  boolean tag(int tag) {
    reserve(1);
    array[size++] = (byte) tag;
    return true;
  }

  /** Writes eight bytes. */
  boolean word(long word) {
    reserve(Long.BYTES);
    Platform.putLong(array, Platform.BYTE_ARRAY_OFFSET + (long) size, word);
    size += Long.BYTES;
    return true;
  }

  private boolean word(int tag, long word, int bytes) {
    tag(tag);
    reserve(bytes);
    long at = Platform.BYTE_ARRAY_OFFSET + (long) size;
    switch (bytes) {
      case Byte.BYTES -> Platform.putByte(array, at, (byte) word);
      case Short.BYTES -> Platform.putShort(array, at, (short) word);
      case Integer.BYTES -> Platform.putInt(array, at, (int) word);
      default -> Platform.putLong(array, at, word);
    }
    size += bytes;
    return true;
  }

  private boolean signed(int tag, long value) {
    return tag(tag) && signed(value);
  }

  boolean signed(long value) {
    return number(value << 1 ^ value >> Long.SIZE - 1);
  }

  boolean number(long value) {
    reserve(MOST_NUMBER_BYTES);
    long left = value;
    while (left >>> NUMBER_BITS != 0) {
      array[size++] = (byte) (left & NUMBER_MASK | MORE);
      left >>>= NUMBER_BITS;
    }
    array[size++] = (byte) left;
    return true;
  }

  private void reserve(int bytes) {
    if (bytes > array.length - size) {
      array = Arrays.copyOf(array, Math.max(size + bytes, 2 * array.length));
    }
  }
}
