package io.sluice.spark.record;

/**
 * Which keys of rows may be compared by their bytes in place of their objects, because equal bytes of equal types are
 * equal objects, and others are not:
 *
 * <ul>
 *   <li>a number, a character, a boolean, text, {@code null} or {@code ()}: objects of different classes are never
 *       equal, and the encoder writes a text in one way only. A NaN must have the usual bits, because {@code equals}
 *       makes no difference between its many forms;
 *   <li>a pair of these, but for fractions: Scala's pairs compare their parts as numbers, so {@code (1, x)} equals
 *       {@code (1L, x)} and {@code (1.0, x)}, and {@code (NaN, x)} not even itself. So all pairs must have the types of
 *       the first one; only text and {@code null} may take turns.
 * </ul>
 *
 * <p>Byte arrays are refused: they are equal to themselves only. Keys that are nested are for {@link NestedKeyTypes} to
 * judge. One thread.
 */
final class KeyTypes {
  /** How a key is looked at. */
  enum Layout {
    WORD, FRACTION, TEXT, PAIR,
    /** One nested part, or a pair with one; {@link #isExact} must be asked of each key. */
    NESTED, NESTED_PAIR, REFUSED
  }

  private static final long DOUBLE_NAN = Double.doubleToLongBits(Double.NaN);
  private static final long FLOAT_NAN = Float.floatToIntBits(Float.NaN);

  private final NestedKeyTypes nested = new NestedKeyTypes();
  private long shape = RecordShape.SERIALIZED;
  private Layout layout = Layout.REFUSED;
  private long key;
  /** Of the first pair; 0 before it. */
  private long pair;

  /** How the key of a row of {@code rowShape} is looked at; the other methods are about this key. */
  Layout layout(long rowShape) {
    if (rowShape != shape) {
      shape = rowShape;
      key = RecordShape.of(RecordShape.key(shape), RecordShape.key2(shape), RecordShape.keySpecialized(shape), 0, 0,
          false);
      layout = layoutOf(rowShape);
    }
    return layout;
  }

  private Layout layoutOf(long rowShape) {
    if (rowShape == RecordShape.SERIALIZED || !RecordShape.isKnown(rowShape)) {
      return Layout.REFUSED;
    }
    int first = RecordShape.key(rowShape);
    int second = RecordShape.key2(rowShape);
    if (first == PartType.NESTED || second == PartType.NESTED) {
      return second == PartType.NONE ? Layout.NESTED : Layout.NESTED_PAIR;
    }
    if (second != PartType.NONE) {
      return isExactInPairs(first) && isExactInPairs(second) && isLikeFirstPair() ? Layout.PAIR : Layout.REFUSED;
    }
    return switch (first) {
      case PartType.LATIN1, PartType.UTF16 -> Layout.TEXT;
      case PartType.NULL, PartType.UNIT, PartType.BOOLEAN, PartType.BYTE, PartType.SHORT, PartType.CHARACTER,
          PartType.INTEGER, PartType.LONG -> Layout.WORD;
      case PartType.FLOAT, PartType.DOUBLE -> Layout.FRACTION;
      default -> Layout.REFUSED;
    };
  }

  /** Whether the key of a row that is {@link Layout#NESTED} or {@link Layout#NESTED_PAIR} is equal by its bytes. */
  boolean isExact(Object base, long offset, int rowBytes) {
    return nested.isExact(base, offset, rowBytes);
  }

  private static boolean isExactInPairs(int code) {
    return switch (code) {
      case PartType.NULL, PartType.LATIN1, PartType.UTF16, PartType.BOOLEAN, PartType.BYTE, PartType.SHORT,
          PartType.CHARACTER, PartType.INTEGER, PartType.LONG -> true;
      default -> false;
    };
  }

  private boolean isLikeFirstPair() {
    long types = RecordShape.of(textOrNull(part(0)), textOrNull(part(1)), RecordShape.keySpecialized(key), 0, 0, false);
    if (pair == 0) {
      pair = types;
    }
    return types == pair;
  }

  private static int textOrNull(int code) {
    return code == PartType.UTF16 || code == PartType.NULL ? PartType.LATIN1 : code;
  }

  /** The types of the key's parts, and whether it is a specialized pair: one number for the same types. */
  long ofKey() {
    return key;
  }

  /** Whether the key is null. */
  boolean isNull() {
    return RecordShape.key(key) == PartType.NULL && RecordShape.key2(key) == PartType.NONE;
  }

  /** The type of the key's part 0 or 1. */
  int part(int index) {
    return index == 0 ? RecordShape.key(key) : RecordShape.key2(key);
  }

  /** Whether the fraction {@code word} is a NaN of other bits than the usual ones. */
  boolean isOtherNaN(long word) {
    return RecordShape.key(key) == PartType.DOUBLE
        ? word != DOUBLE_NAN && Double.isNaN(Double.longBitsToDouble(word))
        : word != FLOAT_NAN && Float.isNaN(Float.intBitsToFloat((int) word));
  }

  /** The shape of a row with a key of {@code types}, as {@link #ofKey} gives them, and no value. */
  static long withoutValue(long types) {
    return RecordShape.of(RecordShape.key(types), RecordShape.key2(types), RecordShape.keySpecialized(types),
        PartType.NULL, PartType.NONE, false);
  }
}
