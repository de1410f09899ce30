package io.sluice.spark.record;

import io.sluice.spark.record.KeyPart.Kind;
import java.util.Arrays;
import org.apache.spark.unsafe.Platform;

/**
 * The key of one row at a time, looked at where it lies: no object is made of it unless {@link #object} is called. A
 * key of one class has one part or two, a tuple the parts of its elements one after another, also of tuples within it:
 * {@code (a, (b, c))} has the parts a, b and c. The row's memory must stay as it is between {@link #pointTo} and the last
 * question. One thread.
 */
public final class RowKey {
  private static final int WORD = 8;
  private static final int SHAPE_AT = WORD;
  private static final int KEY_AT = SHAPE_AT + WORD;
  private static final int OFFSET_SHIFT = 32;
  /** Keys with more are not looked at. */
  private static final int MOST_PARTS = 64;

  private final RecordDecoder decoder = new RecordDecoder();
  private final NestedKeyReader nested = new NestedKeyReader();
  private Object base;
  private long start;
  private int rowBytes;
  private long shape = RecordShape.SERIALIZED;
  private boolean known;
  private boolean hasParts;
  private KeyPart[] parts = {new KeyPart(), new KeyPart()};
  private int partCount;
  private byte[] tags = new byte[MOST_PARTS];
  private int tagCount;

  /** Looks at the row of {@code bytes} at {@code offset} in {@code object} (null: at that address). */
  public void pointTo(Object object, long offset, int bytes) {
    base = object;
    start = offset;
    rowBytes = bytes;
    long found = Platform.getLong(object, offset + SHAPE_AT);
    if (found != shape) {
      known = found != RecordShape.SERIALIZED && RecordShape.isKnown(found);
      shape = found;
    }
    partCount = 0;
    tagCount = 0;
    hasParts = known && lookAtKey();
  }

  /** False when the key has a class that cannot be compared, null for example. */
  private boolean lookAtKey() {
    int second = RecordShape.key2(shape);
    if (second == PartType.NONE) {
      return lookAt(RecordShape.key(shape), KEY_AT);
    }
    return beginTuple(2) && lookAt(RecordShape.key(shape), KEY_AT) && lookAt(second, KEY_AT + WORD);
  }

  /** @param type of the part whose word is {@code wordAt} bytes behind the row's start */
  private boolean lookAt(int type, int wordAt) {
    long word = Platform.getLong(base, start + wordAt);
    return switch (type) {
      case PartType.BYTES -> addSlot(NestedTag.BYTES, Kind.BYTES, word);
      case PartType.LATIN1 -> addSlot(NestedTag.LATIN1, Kind.LATIN1, word);
      case PartType.UTF16 -> addSlot(NestedTag.LATIN1, Kind.UTF16, word);
      case PartType.INTEGER -> addNumber(NestedTag.INTEGER, Kind.INTEGER, word);
      case PartType.LONG -> addNumber(NestedTag.LONG, Kind.LONG, word);
      case PartType.DOUBLE -> addNumber(NestedTag.DOUBLE, Kind.DOUBLE, word);
      case PartType.FLOAT -> addNumber(NestedTag.FLOAT, Kind.FLOAT, word);
      case PartType.BOOLEAN -> addNumber(NestedTag.TRUE, Kind.BOOLEAN, word);
      case PartType.BYTE -> addNumber(NestedTag.BYTE, Kind.BYTE, word);
      case PartType.SHORT -> addNumber(NestedTag.SHORT, Kind.SHORT, word);
      case PartType.CHARACTER -> addNumber(NestedTag.CHARACTER, Kind.CHARACTER, word);
      case PartType.NESTED -> isInRow(word) && nested.read(this, base, start + (word >>> OFFSET_SHIFT), (int) word);
      default -> false;
    };
  }

  private boolean addSlot(int tag, Kind kind, long word) {
    return isInRow(word) && addBytes(tag, kind, base, start + (word >>> OFFSET_SHIFT), (int) word);
  }

  /** Frames have checksums, so else it is a bug in Sluice; the decoder reports it when it is asked for the object. */
  private boolean isInRow(long word) {
    return (int) word >= 0 && (word >>> OFFSET_SHIFT) + (int) word <= rowBytes;
  }

  /** Notes that a tuple of {@code elements} follows; false when the key has too many parts. */
  boolean beginTuple(int elements) {
    return addTag(NestedTag.TUPLE) && addTag(elements);
  }

  boolean addNumber(int tag, Kind kind, long number) {
    KeyPart part = addPart();
    part.setNumber(kind, number);
    return addTag(tag);
  }

  /** A class of two numbers. */
  boolean addNumbers(int tag, Kind firstKind, long first, Kind secondKind, long second) {
    addPart().setNumber(firstKind, first);
    addPart().setNumber(secondKind, second);
    return addTag(tag);
  }

  boolean addBytes(int tag, Kind kind, Object object, long offset, int bytes) {
    addPart().setBytes(kind, object, offset, bytes);
    return addTag(tag);
  }

  boolean addDecimal(int tag, int scale, Object object, long offset, int bytes) {
    addPart().setDecimal(scale, object, offset, bytes);
    return addTag(tag);
  }

  private boolean addTag(int tag) {
    if (tagCount == tags.length) {
      return false;
    }
    tags[tagCount++] = (byte) tag;
    return true;
  }

  private KeyPart addPart() {
    if (partCount == parts.length) {
      parts = Arrays.copyOf(parts, 2 * partCount);
      Arrays.setAll(parts, i -> parts[i] == null ? new KeyPart() : parts[i]);
    }
    return parts[partCount++];
  }

  /** Whether the row holds serialized records instead of one record with a key. */
  public boolean isSerialized() {
    return shape == RecordShape.SERIALIZED;
  }

  public boolean isNull() {
    return known && RecordShape.key(shape) == PartType.NULL && RecordShape.key2(shape) == PartType.NONE;
  }

  /** Whether all parts of the key can be compared without making objects. */
  public boolean hasParts() {
    return hasParts;
  }

  /** Of a key that {@link #hasParts}. */
  public KeyStructure structure() {
    return KeyStructure.of(Arrays.copyOf(tags, tagCount));
  }

  /** Whether the key {@link #hasParts} and this structure. */
  public boolean has(KeyStructure structure) {
    return hasParts && structure.has(tags, tagCount);
  }

  /** The part at {@code index} of a key that {@link #hasParts}. */
  public KeyPart part(int index) {
    return parts[index];
  }

  /** The key as a new object. */
  public Object object() {
    return decoder.key(base, start, rowBytes);
  }
}
