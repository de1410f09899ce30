package io.sluice.spark.order;

import io.sluice.spark.record.KeyPart.Kind;
import io.sluice.spark.record.KeyPart;

/**
 * An order of one part of the keys, or of whole keys that have one part: by a prefix, which is an unsigned number made
 * of each; where two prefixes are equal, by the prefixes at the next depth ({@link #hasNextPrefix}); where all are
 * equal, by {@link #compare}. Immutable, any thread.
 */
interface PartOrder {
  /**
   * The part's prefix: of two parts with different prefixes, the one with the smaller prefix, compared as unsigned,
   * comes first.
   *
   * @param depth 0 for the first prefix; one more for each depth at which the parts have equal prefixes and {@link
   *     #hasNextPrefix}
   */
  long prefix(KeyPart part, int depth);

  /** How many bits of the first prefix, from the highest on, say all of the part; 0 if they may not. */
  default int exactBits() {
    return 0;
  }

  /** Whether parts that are equal up to this prefix, of this depth, can be ordered by their prefixes at the next one. */
  default boolean hasNextPrefix(long prefix, int depth) {
    return false;
  }

  /** Whether the prefix at this depth says anything of {@code part} that those before do not. */
  default boolean reaches(KeyPart part, int depth) {
    return depth == 0;
  }

  int compare(KeyPart left, KeyPart right);

  /**
   * Whole numbers or characters.
   *
   * @param bits that they have
   * @param signed whether negative numbers are less than others; else they are more
   */
  record Numbers(int bits, boolean signed) implements PartOrder {
    /** The natural order. */
    static Numbers of(Kind kind) {
      return new Numbers(bits(kind), kind != Kind.BOOLEAN && kind != Kind.CHARACTER);
    }

    private static int bits(Kind kind) {
      return switch (kind) {
        case BOOLEAN, BYTE -> Byte.SIZE;
        case SHORT, CHARACTER -> Short.SIZE;
        case INTEGER -> Integer.SIZE;
        default -> Long.SIZE;
      };
    }

    @Override
    public long prefix(KeyPart part, int depth) {
      return part.number() << Long.SIZE - bits ^ (signed ? Long.MIN_VALUE : 0);
    }

    @Override
    public int exactBits() {
      return bits;
    }

    @Override
    public int compare(KeyPart left, KeyPart right) {
      return signed ? Long.compare(left.number(), right.number())
          : Long.compareUnsigned(left.number(), right.number());
    }
  }

  /** {@code float} or {@code double} numbers as {@code Double.compare} orders them: -0.0 before 0.0, NaN last. */
  record Fractions() implements PartOrder {
    @Override
    public long prefix(KeyPart part, int depth) {
      return number(part.fraction());
    }

    static long number(double fraction) {
      long bits = Double.doubleToLongBits(fraction);
      return bits < 0 ? ~bits : bits ^ Long.MIN_VALUE;
    }

    @Override
    public int exactBits() {
      return Long.SIZE;
    }

    @Override
    public int compare(KeyPart left, KeyPart right) {
      return Double.compare(left.fraction(), right.fraction());
    }
  }

  /** Decimal numbers by their values. The prefix is the {@code double} next to the number. */
  record Decimals() implements PartOrder {
    @Override
    public long prefix(KeyPart part, int depth) {
      return Fractions.number(part.nearestDouble());
    }

    @Override
    public int compare(KeyPart left, KeyPart right) {
      return left.compareDecimal(right);
    }
  }

  /** Parts of several bytes. A prefix is made of eight of them. */
  interface OfBytes extends PartOrder {
    @Override
    default boolean hasNextPrefix(long prefix, int depth) {
      return true;
    }

    @Override
    default boolean reaches(KeyPart part, int depth) {
      return part.length() > depth * Long.BYTES;
    }
  }

  /** Arrays of bytes, byte by byte, unsigned; a shorter one before its extensions. */
  record UnsignedBytes() implements OfBytes {
    @Override
    public long prefix(KeyPart part, int depth) {
      return part.eightBytes(depth * Long.BYTES);
    }

    @Override
    public int compare(KeyPart left, KeyPart right) {
      return left.compareBytes(right);
    }
  }

  /** Arrays of bytes, byte by byte, signed; a shorter one before its extensions. */
  record SignedBytes() implements OfBytes {
    private static final long SIGN_BITS = 0x8080808080808080L;

    /** The least byte, -128, has the same number as a byte that is missing: then keys are compared. */
    @Override
    public long prefix(KeyPart part, int depth) {
      int missing = Math.max(0, (depth + 1) * Long.BYTES - part.length());
      long bytes = part.eightBytes(depth * Long.BYTES) ^ SIGN_BITS;
      return missing == 0 ? bytes : missing >= Long.BYTES ? 0 : bytes >>> Byte.SIZE * missing << Byte.SIZE * missing;
    }

    @Override
    public int compare(KeyPart left, KeyPart right) {
      return left.compareSignedBytes(right);
    }
  }

  /**
   * Text that is mostly Latin-1, by its UTF-16 units. A prefix has a byte for each of eight units. A unit of 0xFF or
   * more is the byte 0xFF, and ends the prefix.
   */
  record NarrowText() implements OfBytes {
    private static final int LAST = 0xFF;
    private static final long LOW_BITS = 0x0101010101010101L;
    private static final long HIGH_BITS = 0x8080808080808080L;

    @Override
    public long prefix(KeyPart part, int depth) {
      int first = depth * Long.BYTES;
      return part.kind() == Kind.LATIN1 ? ofLatin1(part.eightBytes(first)) : ofUtf16(part, first);
    }

    @Override
    public boolean hasNextPrefix(long prefix, int depth) {
      return !hasLast(prefix);
    }

    private static boolean hasLast(long number) {
      return (~number - LOW_BITS & number & HIGH_BITS) != 0;
    }

    private static long ofLatin1(long bytes) {
      return hasLast(bytes) ? upToLast(bytes) : bytes;
    }

    private static long upToLast(long bytes) {
      int shift = Long.SIZE - Byte.SIZE;
      while ((bytes >>> shift & LAST) != LAST) {
        shift -= Byte.SIZE;
      }
      return bytes >>> shift << shift;
    }

    private static long ofUtf16(KeyPart part, int first) {
      int end = Math.min(first + Long.BYTES, part.units());
      long prefix = 0;
      int shift = Long.SIZE;
      for (int i = first; i < end; i++) {
        char unit = part.unit(i);
        shift -= Byte.SIZE;
        prefix |= (long) Math.min(unit, LAST) << shift;
        if (unit >= LAST) {
          break;
        }
      }
      return prefix;
    }

    @Override
    public int compare(KeyPart left, KeyPart right) {
      return left.compareText(right);
    }
  }

  /** Text that is mostly not Latin-1, by its UTF-16 units. A prefix is four of them. */
  record WideText() implements OfBytes {
    private static final int UNITS = Long.BYTES / Character.BYTES;

    @Override
    public long prefix(KeyPart part, int depth) {
      int units = part.units();
      long prefix = 0;
      for (int i = depth * UNITS; i < (depth + 1) * UNITS; i++) {
        prefix = prefix << Character.SIZE | (i < units ? part.unit(i) : 0);
      }
      return prefix;
    }

    @Override
    public int compare(KeyPart left, KeyPart right) {
      return left.compareText(right);
    }
  }

  /** Another order, reversed. */
  record Reversed(PartOrder forwards) implements PartOrder {
    @Override
    public long prefix(KeyPart part, int depth) {
      return ~forwards.prefix(part, depth);
    }

    @Override
    public int exactBits() {
      return forwards.exactBits();
    }

    @Override
    public boolean hasNextPrefix(long prefix, int depth) {
      return forwards.hasNextPrefix(~prefix, depth);
    }

    @Override
    public boolean reaches(KeyPart part, int depth) {
      return forwards.reaches(part, depth);
    }

    @Override
    public int compare(KeyPart left, KeyPart right) {
      return forwards.compare(right, left);
    }
  }
}
