package io.sluice.spark.record;

import org.apache.spark.unsafe.Platform;

/**
 * The key of one row at a time, looked at where it lies: no object is made of it unless {@link #object} is called.
 * The row's memory must stay as it is between {@link #pointTo} and the last question. One thread.
 */
public final class RowKey {
  /** The kinds of keys that can be compared without creating an object. */
  public enum Kind {
    BYTES(true), LATIN1(true), UTF16(true),
    BYTE(false), SHORT(false), CHARACTER(false), INTEGER(false), LONG(false),
    /** Numbers whose bits are stored. */
    FLOAT(false), DOUBLE(false),
    /** A {@code Tuple2} of two of the above. */
    PAIR(false),
    NULL(false),
    /** Of another class. */
    OTHER(false),
    /** The row holds serialized records instead of one record with a key. */
    SERIALIZED(false);

    private final boolean variable;

    Kind(boolean variable) {
      this.variable = variable;
    }
  }

  private static final int WORD = 8;
  private static final int SHAPE_AT = WORD;
  private static final int KEY_AT = SHAPE_AT + WORD;
  private static final int SECOND_AT = KEY_AT + WORD;
  private static final int OFFSET_SHIFT = 32;

  private final RecordDecoder decoder = new RecordDecoder();
  private Object base;
  private long start;
  private int rowBytes;
  private long shape = RecordShape.SERIALIZED;
  /** The kind of keys of rows with this shape; that of a damaged row differs. */
  private Kind shapesKind = Kind.SERIALIZED;
  private Kind kind = Kind.SERIALIZED;
  private long word;
  /** The parts of a pair; null before the first one. */
  private RowKey first;
  private RowKey second;

  /** Looks at the row of {@code bytes} at {@code offset} in {@code object} (null: at that address). */
  public void pointTo(Object object, long offset, int bytes) {
    long found = Platform.getLong(object, offset + SHAPE_AT);
    if (found != shape) {
      shapesKind = kindOf(found);
      shape = found;
    }
    lookAt(shapesKind, object, offset, bytes, Platform.getLong(object, offset + KEY_AT));
    if (kind == Kind.PAIR) {
      pointPartsTo(object, offset, bytes);
    }
  }

  private void pointPartsTo(Object object, long offset, int bytes) {
    if (first == null) {
      first = new RowKey();
      second = new RowKey();
    }
    first.lookAt(kindOfPart(RecordShape.key(shape)), object, offset, bytes, word);
    second.lookAt(kindOfPart(RecordShape.key2(shape)), object, offset, bytes,
        Platform.getLong(object, offset + SECOND_AT));
    if (first.kind == Kind.OTHER || second.kind == Kind.OTHER) {
      kind = Kind.OTHER;
    }
  }

  /** @param value the word of the part in the row at {@code offset} that this looks at */
  private void lookAt(Kind partKind, Object object, long offset, int bytes, long value) {
    kind = partKind;
    base = object;
    start = offset;
    rowBytes = bytes;
    word = value;
    if (kind.variable && (length() < 0 || (word >>> OFFSET_SHIFT) + length() > bytes)) {
      // Frames have checksums, so this is a bug in Sluice; the decoder reports it when it is asked for the object.
      kind = Kind.OTHER;
    }
  }

  private static Kind kindOf(long shape) {
    if (shape == RecordShape.SERIALIZED) {
      return Kind.SERIALIZED;
    }
    if (!RecordShape.isKnown(shape)) {
      return Kind.OTHER;
    }
    Kind first = kindOfPart(RecordShape.key(shape));
    if (RecordShape.key2(shape) == PartType.NONE) {
      return first;
    }
    Kind second = kindOfPart(RecordShape.key2(shape));
    return isPart(first) && isPart(second) ? Kind.PAIR : Kind.OTHER;
  }

  private static boolean isPart(Kind kind) {
    return kind != Kind.OTHER && kind != Kind.NULL;
  }

  private static Kind kindOfPart(int type) {
    return switch (type) {
      case PartType.NULL -> Kind.NULL;
      case PartType.BYTES -> Kind.BYTES;
      case PartType.LATIN1 -> Kind.LATIN1;
      case PartType.UTF16 -> Kind.UTF16;
      case PartType.BYTE -> Kind.BYTE;
      case PartType.SHORT -> Kind.SHORT;
      case PartType.CHARACTER -> Kind.CHARACTER;
      case PartType.INTEGER -> Kind.INTEGER;
      case PartType.LONG -> Kind.LONG;
      case PartType.FLOAT -> Kind.FLOAT;
      case PartType.DOUBLE -> Kind.DOUBLE;
      default -> Kind.OTHER;
    };
  }

  /** The first part of a key that is a pair, until this looks at another row. Only its {@link #object} is not known. */
  public RowKey first() {
    return first;
  }

  /** The second part of a key that is a pair, as {@link #first}. */
  public RowKey second() {
    return second;
  }

  /** The kind of the key. */
  public Kind kind() {
    return kind;
  }

  /** The key's value, when it is a whole number or a character; the bits of another number. */
  public long number() {
    return word;
  }

  /** Length of the key in bytes, when it is bytes or text; text that is not Latin-1 has two a character. */
  public int length() {
    return (int) word;
  }

  /**
   * Eight of the key's bytes, the first of them the highest; those past the key's end are 0.
   *
   * @param index of the first one, a multiple of 8 and at most {@link #length}
   */
  public long eightBytes(int index) {
    // A slot is padded with zeros to whole words; an empty one may be at the row's end.
    return index < length() ? Long.reverseBytes(Platform.getLong(base, start + (word >>> OFFSET_SHIFT) + index)) : 0;
  }

  /** Number of UTF-16 units of a key that is text. */
  public int units() {
    return kind == Kind.UTF16 ? length() / Character.BYTES : length();
  }

  /** One UTF-16 unit of a key that is text. */
  public char unit(int index) {
    long bytes = start + (word >>> OFFSET_SHIFT);
    return kind == Kind.UTF16 ? (char) Platform.getShort(base, bytes + (long) Character.BYTES * index)
        : (char) (Platform.getByte(base, bytes + index) & 0xFF);
  }

  /** Compares two keys that are both {@link Kind#BYTES} or both {@link Kind#LATIN1}, byte by byte, unsigned. */
  public int compareBytes(RowKey other) {
    int common = Math.min(length(), other.length());
    // The padding of the shorter one compares as zeros, which is right until the lengths decide.
    for (int i = 0; i < common; i += WORD) {
      int order = Long.compareUnsigned(eightBytes(i), other.eightBytes(i));
      if (order != 0) {
        return order;
      }
    }
    return Integer.compare(length(), other.length());
  }

  /** Compares two keys that are both {@link Kind#BYTES}, byte by byte, signed. */
  public int compareSignedBytes(RowKey other) {
    int common = Math.min(length(), other.length());
    for (int i = 0; i < common; i++) {
      int order = Byte.compare(byteAt(i), other.byteAt(i));
      if (order != 0) {
        return order;
      }
    }
    return Integer.compare(length(), other.length());
  }

  private byte byteAt(int index) {
    return Platform.getByte(base, start + (word >>> OFFSET_SHIFT) + index);
  }

  /** Compares two keys that are text, unit by unit. */
  public int compareText(RowKey other) {
    if (kind == Kind.LATIN1 && other.kind == Kind.LATIN1) {
      return compareBytes(other);
    }
    int common = Math.min(units(), other.units());
    for (int i = 0; i < common; i++) {
      int order = Character.compare(unit(i), other.unit(i));
      if (order != 0) {
        return order;
      }
    }
    return Integer.compare(units(), other.units());
  }

  /** The key as a new object. */
  public Object object() {
    return decoder.key(base, start, rowBytes);
  }
}
