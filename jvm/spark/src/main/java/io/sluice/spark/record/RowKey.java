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
  /** Whether rows of this shape have a key, of which no part is nested: then the tags are the same for all of them. */
  private boolean flat;
  /** Of a flat key; the second is null when it is no pair. */
  private Kind first;
  private Kind second;
  private boolean known;
  private boolean hasParts;
  private KeyPart[] parts = {new KeyPart(), new KeyPart()};
  private int partCount;
  private byte[] tags = new byte[MOST_PARTS];
  private int tagCount;
  /** The structure that the tags were found to be; null when they were not compared. */
  private KeyStructure compared;

  /** Looks at the row of {@code bytes} at {@code offset} in {@code object} (null: at that address). */
  public void pointTo(Object object, long offset, int bytes) {
    base = object;
    start = offset;
    rowBytes = bytes;
    long found = Platform.getLong(object, offset + SHAPE_AT);
    if (found != shape) {
      learn(found);
    }
    hasParts = flat ? lookAtFlatKey() : known && lookAtKey();
  }

  private void learn(long found) {
    shape = found;
    known = found != RecordShape.SERIALIZED && RecordShape.isKnown(found);
    clear();
    int type2 = RecordShape.key2(found);
    flat = known && (type2 == PartType.NONE || beginTuple(2)) && isFlat(RecordShape.key(found))
        && (type2 == PartType.NONE || isFlat(type2));
    if (flat) {
      first = kindOf(RecordShape.key(found));
      second = type2 == PartType.NONE ? null : kindOf(type2);
    }
  }

  private void clear() {
    partCount = 0;
    tagCount = 0;
    compared = null;
  }

  /** Adds the tag of a part of {@code type}; false if it is nested, or cannot be compared. */
  private boolean isFlat(int type) {
    return kindOf(type) != null && addTag(tagOf(type));
  }

  private boolean lookAtFlatKey() {
    return lookAt(parts[0], first, KEY_AT) && (second == null || lookAt(parts[1], second, KEY_AT + WORD));
  }

  /** @param wordAt how many bytes behind the row's start the part's word is */
  private boolean lookAt(KeyPart part, Kind kind, int wordAt) {
    long word = Platform.getLong(base, start + wordAt);
    if (kind.isVariable()) {
      part.setBytes(kind, base, start + (word >>> OFFSET_SHIFT), (int) word);
      return isInRow(word);
    }
    part.setNumber(kind, word);
    return true;
  }

  /** Frames have checksums, so else it is a bug in Sluice; the decoder reports it when it is asked for the object. */
  private boolean isInRow(long word) {
    return (int) word >= 0 && (word >>> OFFSET_SHIFT) + (int) word <= rowBytes;
  }

  /** False when the key has a class that cannot be compared, null for example. */
  private boolean lookAtKey() {
    clear();
    int type2 = RecordShape.key2(shape);
    if (type2 == PartType.NONE) {
      return lookAt(RecordShape.key(shape), KEY_AT);
    }
    return beginTuple(2) && lookAt(RecordShape.key(shape), KEY_AT) && lookAt(type2, KEY_AT + WORD);
  }

  private boolean lookAt(int type, int wordAt) {
    if (type == PartType.NESTED) {
      long word = Platform.getLong(base, start + wordAt);
      return isInRow(word) && nested.read(this, base, start + (word >>> OFFSET_SHIFT), (int) word);
    }
    Kind kind = kindOf(type);
    return kind != null && lookAt(addPart(), kind, wordAt) && addTag(tagOf(type));
  }

  /** Null for a part that cannot be compared, or is nested. */
  private static Kind kindOf(int type) {
    return switch (type) {
      case PartType.BYTES -> Kind.BYTES;
      case PartType.LATIN1 -> Kind.LATIN1;
      case PartType.UTF16 -> Kind.UTF16;
      case PartType.BOOLEAN -> Kind.BOOLEAN;
      case PartType.BYTE -> Kind.BYTE;
      case PartType.SHORT -> Kind.SHORT;
      case PartType.CHARACTER -> Kind.CHARACTER;
      case PartType.INTEGER -> Kind.INTEGER;
      case PartType.LONG -> Kind.LONG;
      case PartType.FLOAT -> Kind.FLOAT;
      case PartType.DOUBLE -> Kind.DOUBLE;
      default -> null;
    };
  }

  /** The {@link NestedTag} of a part for which {@link #kindOf} is not null; all text has one. */
  private static int tagOf(int type) {
    return switch (type) {
      case PartType.BYTES -> NestedTag.BYTES;
      case PartType.LATIN1, PartType.UTF16 -> NestedTag.LATIN1;
      case PartType.BOOLEAN -> NestedTag.TRUE;
      case PartType.BYTE -> NestedTag.BYTE;
      case PartType.SHORT -> NestedTag.SHORT;
      case PartType.CHARACTER -> NestedTag.CHARACTER;
      case PartType.INTEGER -> NestedTag.INTEGER;
      case PartType.LONG -> NestedTag.LONG;
      case PartType.FLOAT -> NestedTag.FLOAT;
      default -> NestedTag.DOUBLE;
    };
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
    if (compared != structure) {
      if (!structure.has(tags, tagCount)) {
        return false;
      }
      compared = structure;
    }
    return hasParts;
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
