package io.sluice.spark.record;

import io.sluice.spark.SluiceException;
import java.nio.charset.StandardCharsets;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;
import scala.Tuple2;

/**
 * Makes the objects of a record again from its row; the inverse of {@link RecordEncoder}. Every result is a new
 * object that does not refer to the row's memory. One thread.
 */
public final class RecordDecoder {
  private static final int WORD = 8;
  private static final int OFFSET_SHIFT = 32;
  private static final int SHAPE_AT = WORD;

  private Object base;
  private long start;
  private int rowBytes;
  private int wordAt;
  /** Null before the first nested part. */
  private NestedReader nested;
  /** The last shape that was found to be known. */
  private long known = RecordShape.SERIALIZED;

  /** Whether {@code row} holds serialized records instead of one record with a shape. */
  public boolean isSerialized(UnsafeRow row) {
    open(row);
    return shape() == RecordShape.SERIALIZED;
  }

  /**
   * Number of serialized records that end in {@code row}, which {@link #isSerialized}; 0 if their bytes continue in the
   * next row.
   */
  int serializedRecords(UnsafeRow row) {
    open(row);
    return (int) nextWord();
  }

  /** The bytes of {@code row}, which {@link #isSerialized}. */
  byte[] serializedBytes(UnsafeRow row) {
    open(row);
    nextWord();
    return bytes();
  }

  /**
   * The key and value of {@code row}.
   *
   * @throws SluiceException when the row has a shape that this version does not know
   */
  public <K, V> Tuple2<K, V> decode(UnsafeRow row) {
    return decode(row.getBaseObject(), row.getBaseOffset(), row.getSizeInBytes());
  }

  /**
   * As {@link #decode(UnsafeRow)}, of the {@code bytes} at {@code offset} in {@code object} (null: at that address).
   */
  public <K, V> Tuple2<K, V> decode(Object object, long offset, int bytes) {
    open(object, offset, bytes);
    long shape = knownShape();
    Object key = value(RecordShape.key(shape), RecordShape.key2(shape), RecordShape.keySpecialized(shape));
    Object value = value(RecordShape.value(shape), RecordShape.value2(shape), RecordShape.valueSpecialized(shape));
    @SuppressWarnings("unchecked") // The types are those of the record that was encoded.
    Tuple2<K, V> record = new Tuple2<>((K) key, (V) value);
    return record;
  }

  /** The key of {@code row} alone. */
  public Object key(UnsafeRow row) {
    return key(row.getBaseObject(), row.getBaseOffset(), row.getSizeInBytes());
  }

  /** As {@link #key(UnsafeRow)}, of the {@code bytes} at {@code offset} in {@code object} (null: at that address). */
  public Object key(Object object, long offset, int bytes) {
    open(object, offset, bytes);
    long shape = knownShape();
    return value(RecordShape.key(shape), RecordShape.key2(shape), RecordShape.keySpecialized(shape));
  }

  /** The value alone of the row of {@code bytes} at {@code offset} in {@code object} (null: at that address). */
  public Object value(Object object, long offset, int bytes) {
    open(object, offset, bytes);
    long shape = knownShape();
    wordAt += RecordShape.key2(shape) == PartType.NONE ? WORD : 2 * WORD;
    return value(RecordShape.value(shape), RecordShape.value2(shape), RecordShape.valueSpecialized(shape));
  }

  private long knownShape() {
    long shape = shape();
    if (shape != known) {
      check(shape);
    }
    return shape;
  }

  private void check(long shape) {
    if (!RecordShape.isKnown(shape)) {
      throw new SluiceException("a record has the unknown shape 0x" + Long.toHexString(shape)
          + "; was it written by another version of Sluice?");
    }
    known = shape;
  }

  private void open(UnsafeRow row) {
    open(row.getBaseObject(), row.getBaseOffset(), row.getSizeInBytes());
  }

  private void open(Object object, long offset, int bytes) {
    base = object;
    start = offset;
    rowBytes = bytes;
    wordAt = SHAPE_AT + WORD;
  }

  private long shape() {
    return Platform.getLong(base, start + SHAPE_AT);
  }

  private long nextWord() {
    long word = Platform.getLong(base, start + wordAt);
    wordAt += WORD;
    return word;
  }

  private Object value(int code, int code2, boolean specialized) {
    Object first = part(code);
    if (code2 == PartType.NONE) {
      return first;
    }
    Object second = part(code2);
    return specialized ? Pairs.make(first, second) : new Tuple2<>(first, second);
  }

  private Object part(int code) {
    return switch (code) {
      case PartType.NULL -> nothing(null);
      case PartType.BYTES -> bytes();
      case PartType.LATIN1 -> new String(bytes(), StandardCharsets.ISO_8859_1);
      case PartType.UTF16 -> utf16();
      case PartType.INTEGER -> (int) nextWord();
      case PartType.LONG -> nextWord();
      case PartType.DOUBLE -> Double.longBitsToDouble(nextWord());
      default -> rarer(code);
    };
  }

  private Object rarer(int code) {
    return switch (code) {
      case PartType.BOOLEAN -> nextWord() != 0;
      case PartType.FLOAT -> Float.intBitsToFloat((int) nextWord());
      case PartType.SHORT -> (short) nextWord();
      case PartType.BYTE -> (byte) nextWord();
      case PartType.CHARACTER -> (char) nextWord();
      case PartType.NESTED -> nested();
      default -> nothing(scala.runtime.BoxedUnit.UNIT);
    };
  }

  /** Returns {@code value} after skipping the empty word that represents it. */
  private Object nothing(Object value) {
    nextWord();
    return value;
  }

  private byte[] bytes() {
    long word = nextWord();
    byte[] bytes = new byte[size(word)];
    Platform.copyMemory(base, start + (word >>> OFFSET_SHIFT), bytes, Platform.BYTE_ARRAY_OFFSET, bytes.length);
    return bytes;
  }

  private Object nested() {
    long word = nextWord();
    if (nested == null) {
      nested = new NestedReader();
    }
    return nested.read(base, start + (word >>> OFFSET_SHIFT), size(word));
  }

  private String utf16() {
    long word = nextWord();
    char[] chars = new char[size(word) / Character.BYTES];
    Platform.copyMemory(base, start + (word >>> OFFSET_SHIFT), chars, RecordEncoder.CHAR_ARRAY_OFFSET,
        (long) chars.length * Character.BYTES);
    return new String(chars);
  }

  /** The slot's size; frames have checksums, so a slot outside of the row is a bug in Sluice, and is not read. */
  private int size(long word) {
    int size = (int) word;
    if (size < 0 || (word >>> OFFSET_SHIFT) + size > rowBytes) {
      throw new SluiceException("a record of " + rowBytes + " bytes has a part of " + size + " bytes at "
          + (word >>> OFFSET_SHIFT) + ": please report this");
    }
    return size;
  }
}
