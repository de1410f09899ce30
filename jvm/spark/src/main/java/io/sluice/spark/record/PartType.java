package io.sluice.spark.record;

import scala.runtime.BoxedUnit;

/**
 * The types that a part of a record can have, as codes. Codes are stored in frames: never change one.
 *
 * <p>Text is stored as one byte per character where that is possible, else as UTF-16, so that every string comes
 * back, lone surrogates included.
 */
final class PartType {
  /** Not a part: the code's place in a {@link RecordShape} is unused. */
  static final int NONE = 0;
  static final int NULL = 1;
  static final int UNIT = 2;
  static final int BYTES = 3;
  static final int LATIN1 = 4;
  static final int UTF16 = 5;
  static final int BOOLEAN = 6;
  static final int BYTE = 7;
  static final int SHORT = 8;
  static final int CHARACTER = 9;
  static final int INTEGER = 10;
  static final int LONG = 11;
  static final int FLOAT = 12;
  static final int DOUBLE = 13;
  /** Any of the values of {@link NestedTag}, in the row's variable-length bytes. */
  static final int NESTED = 14;

  /** The result of {@link #of} for an object that cannot be a part. */
  static final int UNKNOWN = -1;

  private PartType() {}

  /** The code of {@code part}, with {@link #LATIN1} for every string; {@link #UNKNOWN} for all other classes. */
  static int of(Object part) {
    if (part == null) {
      return NULL;
    }
    Class<?> type = part.getClass();
    if (type == byte[].class) {
      return BYTES;
    } else if (type == String.class) {
      return LATIN1;
    } else if (type == Integer.class) {
      return INTEGER;
    } else if (type == Long.class) {
      return LONG;
    } else if (type == Double.class) {
      return DOUBLE;
    }
    return ofRarer(part, type);
  }

  private static int ofRarer(Object part, Class<?> type) {
    if (type == BoxedUnit.class) {
      return UNIT;
    } else if (type == Boolean.class) {
      return BOOLEAN;
    } else if (type == Float.class) {
      return FLOAT;
    } else if (type == Short.class) {
      return SHORT;
    } else if (type == Byte.class) {
      return BYTE;
    } else if (type == Character.class) {
      return CHARACTER;
    }
    return UNKNOWN;
  }

  /**
   * Whether a part of this type has a word in the record; null has one too, so that records with nulls look like
   * others.
   */
  static boolean hasWord(int code) {
    return code >= NULL;
  }

  /** Whether the part's word says where its bytes are. */
  static boolean isVariable(int code) {
    return code >= BYTES && code <= UTF16 || code == NESTED;
  }

  static boolean isKnown(int code) {
    return code >= NULL && code <= NESTED;
  }
}
