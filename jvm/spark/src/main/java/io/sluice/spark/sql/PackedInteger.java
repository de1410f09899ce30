package io.sluice.spark.sql;

/**
 * Integers in as many bits as they need, that compare bit by bit as the integers do, also with other bits behind them:
 * first how many significant bits there are, in order of the values, then these bits but for the highest one, which is
 * known.
 *
 * <pre>
 *   of 64 bits:  |7 bits: 64 + significant, of a negative value 63 - significant of its complement|0 to 62 bits|
 *   of 32 bits:  |6 bits: 32 + significant, of a negative value 31 - significant of its complement|0 to 30 bits|
 *
 *   0 → 1000000    1 → 1000001    2 → 1000010 0    3 → 1000010 1    -1 → 0111111    -2 → 0111110    -3 → 0111101 1
 * </pre>
 */
final class PackedInteger {
  private PackedInteger() {}

  /** Bits from the highest one of the result on; those beyond 64 are cut off. */
  static long pack(long value, int typeBits) {
    int significant = significant(value);
    long length = value < 0 ? typeBits - 1 - significant : typeBits + significant;
    int lengthBits = lengthBits(typeBits);
    long packed = length << Long.SIZE - lengthBits;
    return significant < 2 ? packed : packed | value << Long.SIZE + 1 - significant >>> lengthBits;
  }

  /** Bits of a packed value. */
  static int bits(long value, int typeBits) {
    return lengthBits(typeBits) + Math.max(0, significant(value) - 1);
  }

  /** As {@link #bits}, told from the packed bits at the top of {@code packed}; more than are there if it is cut off. */
  static int bitsOfPacked(long packed, int typeBits) {
    int lengthBits = lengthBits(typeBits);
    int length = (int) (packed >>> Long.SIZE - lengthBits);
    int significant = length < typeBits ? typeBits - 1 - length : length - typeBits;
    return lengthBits + Math.max(0, significant - 1);
  }

  private static int significant(long value) {
    return Long.SIZE - Long.numberOfLeadingZeros(value ^ value >> Long.SIZE - 1);
  }

  private static int lengthBits(int typeBits) {
    return typeBits == Long.SIZE ? 7 : 6;
  }
}
