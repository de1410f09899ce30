package io.sluice.spark.record;

/**
 * The types of a record's parts, packed in the word behind its bitset, low byte first:
 *
 * <pre>
 *   byte 0  the key's type, or its first part's      byte 1  the key's second part's, 0 when it is no pair
 *   byte 2  the value's type, or its first part's    byte 3  the value's second part's, 0 when it is no pair
 *   byte 4  bit 0: the key is a specialized pair; bit 1: the value is
 * </pre>
 *
 * A pair is a {@code Tuple2}. Scala makes pairs of numbers, characters and booleans of classes of their own (as {@code
 * Tuple2$mcII$sp}). A row of shape {@link #SERIALIZED} holds
 * several records that the shuffle's serializer wrote: a word with their number, then their bytes. Bytes that do not
 * fit one row continue in the partition's next row; all rows but the last of such a sequence have the number 0.
 */
final class RecordShape {
  /** Shape of a row of serialized records. */
  static final long SERIALIZED = 0;

  private static final int VALUE_SHIFT = 16;
  private static final int SECOND_SHIFT = 8;
  private static final int KEY_SPECIALIZED_SHIFT = 32;
  private static final int VALUE_SPECIALIZED_SHIFT = 33;
  private static final int CODE_MASK = 0xFF;
  private static final long KNOWN_BITS = (1L << (VALUE_SPECIALIZED_SHIFT + 1)) - 1;

  private RecordShape() {}

  static long of(int key, int key2, boolean keySpecialized, int value, int value2, boolean valueSpecialized) {
    return key | key2 << SECOND_SHIFT | (long) (value | value2 << SECOND_SHIFT) << VALUE_SHIFT
        | (keySpecialized ? 1L << KEY_SPECIALIZED_SHIFT : 0) | (valueSpecialized ? 1L << VALUE_SPECIALIZED_SHIFT : 0);
  }

  static int key(long shape) {
    return (int) shape & CODE_MASK;
  }

  static int key2(long shape) {
    return (int) (shape >>> SECOND_SHIFT) & CODE_MASK;
  }

  static boolean keySpecialized(long shape) {
    return (shape >>> KEY_SPECIALIZED_SHIFT & 1) != 0;
  }

  static int value(long shape) {
    return (int) (shape >>> VALUE_SHIFT) & CODE_MASK;
  }

  static int value2(long shape) {
    return (int) (shape >>> VALUE_SHIFT + SECOND_SHIFT) & CODE_MASK;
  }

  static boolean valueSpecialized(long shape) {
    return (shape >>> VALUE_SPECIALIZED_SHIFT & 1) != 0;
  }

  /** Whether this version can decode a record of {@code shape}. */
  static boolean isKnown(long shape) {
    return shape == SERIALIZED || (shape & ~KNOWN_BITS) == 0
        && PartType.isKnown(key(shape)) && PartType.isKnown(value(shape))
        && isKnownSecond(key2(shape)) && isKnownSecond(value2(shape));
  }

  private static boolean isKnownSecond(int code) {
    return code == PartType.NONE || PartType.isKnown(code);
  }
}
