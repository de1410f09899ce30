package io.sluice.spark.order;

import io.sluice.spark.NormalizedKeyOrdering;
import io.sluice.spark.record.RowKey.Kind;
import io.sluice.spark.record.RowKey;
import java.util.Comparator;

/**
 * An order of keys that are stored in rows: by a prefix, which is an unsigned number made of each key; where two
 * prefixes are equal, by the prefixes at the next depth ({@link #hasNextPrefix}); where all are equal, by {@link
 * #compare}. {@link KeyOrders} finds the one that orders as a job's comparator does. Immutable, any thread.
 */
interface KeyOrder {

  /** Whether {@code key} has a prefix; a key without one is compared by the job's comparator. */
  boolean hasPrefix(RowKey key);

  /**
   * The key's prefix: of two keys with different prefixes, the one with the smaller prefix, compared as unsigned, comes
   * first. Only for a key that {@link #hasPrefix}.
   *
   * @param depth 0 for the first prefix; one more for each depth at which the keys have equal prefixes and {@link
   *     #hasNextPrefix}
   */
  long prefix(RowKey key, int depth);

  /** Whether keys that are equal up to this prefix, of this depth, can be ordered by their prefixes at the next one. */
  boolean hasNextPrefix(long prefix, int depth);

  /** Whether the prefix at this depth says anything of {@code key} that those before do not. */
  default boolean reaches(RowKey key, int depth) {
    return key.length() > depth * Long.BYTES;
  }

  /** Whether keys with the same prefixes up to this depth are equal. */
  boolean canSortFullyWithPrefix(int depth);

  /** Compares two keys that {@link #hasPrefix}, as the job's comparator would. */
  int compare(RowKey left, RowKey right);

  /** Keys that are numbers or characters of one class. */
  interface OfNumbers extends KeyOrder {
    Kind kind();

    @Override
    default boolean hasPrefix(RowKey key) {
      return key.kind() == kind();
    }

    @Override
    default boolean hasNextPrefix(long prefix, int depth) {
      return false;
    }

    @Override
    default boolean reaches(RowKey key, int depth) {
      return depth == 0;
    }

    @Override
    default boolean canSortFullyWithPrefix(int depth) {
      return true;
    }
  }

  /** Numbers in their natural order. */
  record Numbers(Kind kind) implements OfNumbers {
    @Override
    public long prefix(RowKey key, int depth) {
      return key.number() ^ Long.MIN_VALUE;
    }

    @Override
    public int compare(RowKey left, RowKey right) {
      return Long.compare(left.number(), right.number());
    }
  }

  /** Numbers as if they had no sign. */
  record UnsignedNumbers(Kind kind) implements OfNumbers {
    @Override
    public long prefix(RowKey key, int depth) {
      return key.number();
    }

    @Override
    public int compare(RowKey left, RowKey right) {
      return Long.compareUnsigned(left.number(), right.number());
    }
  }

  /** {@code float} or {@code double} numbers as {@code Double.compare} orders them: -0.0 before 0.0, NaN last. */
  record FloatingNumbers(Kind kind) implements OfNumbers {
    @Override
    public long prefix(RowKey key, int depth) {
      long bits = Double.doubleToLongBits(value(key));
      return bits < 0 ? ~bits : bits ^ Long.MIN_VALUE;
    }

    @Override
    public int compare(RowKey left, RowKey right) {
      return Double.compare(value(left), value(right));
    }

    private double value(RowKey key) {
      return kind == Kind.FLOAT ? Float.intBitsToFloat((int) key.number()) : Double.longBitsToDouble(key.number());
    }
  }

  /** Arrays of bytes, byte by byte, unsigned; a shorter one before its extensions. A prefix is eight bytes. */
  record UnsignedBytes() implements KeyOrder {
    @Override
    public boolean hasPrefix(RowKey key) {
      return key.kind() == Kind.BYTES;
    }

    @Override
    public long prefix(RowKey key, int depth) {
      return key.eightBytes(depth * Long.BYTES);
    }

    @Override
    public boolean hasNextPrefix(long prefix, int depth) {
      return true;
    }

    @Override
    public boolean canSortFullyWithPrefix(int depth) {
      return false;
    }

    @Override
    public int compare(RowKey left, RowKey right) {
      return left.compareBytes(right);
    }
  }

  /** Arrays of bytes, byte by byte, signed; a shorter one before its extensions. A prefix is eight bytes. */
  record SignedBytes() implements KeyOrder {
    private static final long SIGN_BITS = 0x8080808080808080L;

    @Override
    public boolean hasPrefix(RowKey key) {
      return key.kind() == Kind.BYTES;
    }

    /** The least byte, -128, has the same number as a byte that is missing: then keys are compared. */
    @Override
    public long prefix(RowKey key, int depth) {
      int missing = Math.max(0, (depth + 1) * Long.BYTES - key.length());
      long bytes = key.eightBytes(depth * Long.BYTES) ^ SIGN_BITS;
      return missing == 0 ? bytes : missing >= Long.BYTES ? 0 : bytes >>> Byte.SIZE * missing << Byte.SIZE * missing;
    }

    @Override
    public boolean hasNextPrefix(long prefix, int depth) {
      return true;
    }

    @Override
    public boolean canSortFullyWithPrefix(int depth) {
      return false;
    }

    @Override
    public int compare(RowKey left, RowKey right) {
      return left.compareSignedBytes(right);
    }
  }

  /** Text by its UTF-16 units, as {@code String.compareTo} compares. */
  interface Text extends KeyOrder {
    @Override
    default boolean hasPrefix(RowKey key) {
      return key.kind() == Kind.LATIN1 || key.kind() == Kind.UTF16;
    }

    @Override
    default boolean canSortFullyWithPrefix(int depth) {
      return false;
    }

    @Override
    default int compare(RowKey left, RowKey right) {
      return left.compareText(right);
    }
  }

  /**
   * Text that is mostly Latin-1. A prefix has a byte for each of eight UTF-16 units. A unit of 0xFF or more is the byte
   * 0xFF, and ends the prefix.
   */
  record NarrowText() implements Text {
    private static final int LAST = 0xFF;
    private static final long LOW_BITS = 0x0101010101010101L;
    private static final long HIGH_BITS = 0x8080808080808080L;

    @Override
    public long prefix(RowKey key, int depth) {
      int first = depth * Long.BYTES;
      return key.kind() == Kind.LATIN1 ? ofLatin1(key.eightBytes(first)) : ofUtf16(key, first);
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

    private static long ofUtf16(RowKey key, int first) {
      int end = Math.min(first + Long.BYTES, key.units());
      long prefix = 0;
      int shift = Long.SIZE;
      for (int i = first; i < end; i++) {
        char unit = key.unit(i);
        shift -= Byte.SIZE;
        prefix |= (long) Math.min(unit, LAST) << shift;
        if (unit >= LAST) {
          break;
        }
      }
      return prefix;
    }
  }

  /** Text that is mostly not Latin-1. A prefix is four UTF-16 units. */
  record WideText() implements Text {
    private static final int UNITS = Long.BYTES / Character.BYTES;

    @Override
    public long prefix(RowKey key, int depth) {
      int units = key.units();
      long prefix = 0;
      for (int i = depth * UNITS; i < (depth + 1) * UNITS; i++) {
        prefix = prefix << Character.SIZE | (i < units ? key.unit(i) : 0);
      }
      return prefix;
    }

    @Override
    public boolean hasNextPrefix(long prefix, int depth) {
      return true;
    }
  }

  /**
   * Pairs by their first parts, where these are equal by their second ones. The prefixes of a number that comes first
   * are followed by those of the second part; those of other parts by none, because they end in different places.
   */
  record Pairs(KeyOrder first, KeyOrder second) implements KeyOrder {
    @Override
    public boolean hasPrefix(RowKey key) {
      return key.kind() == Kind.PAIR && first.hasPrefix(key.first()) && second.hasPrefix(key.second());
    }

    @Override
    public long prefix(RowKey key, int depth) {
      return isOfSecond(depth) ? second.prefix(key.second(), depth - 1) : first.prefix(key.first(), depth);
    }

    private boolean isOfSecond(int depth) {
      return depth > 0 && first.canSortFullyWithPrefix(0);
    }

    @Override
    public boolean hasNextPrefix(long prefix, int depth) {
      return isOfSecond(depth) ? second.hasNextPrefix(prefix, depth - 1)
          : isOfSecond(depth + 1) || first.hasNextPrefix(prefix, depth);
    }

    @Override
    public boolean reaches(RowKey key, int depth) {
      return isOfSecond(depth) ? second.reaches(key.second(), depth - 1) : first.reaches(key.first(), depth);
    }

    @Override
    public boolean canSortFullyWithPrefix(int depth) {
      return isOfSecond(depth) && second.canSortFullyWithPrefix(depth - 1);
    }

    @Override
    public int compare(RowKey left, RowKey right) {
      int order = first.compare(left.first(), right.first());
      return order != 0 ? order : second.compare(left.second(), right.second());
    }
  }

  /** The order of a job whose comparator implements {@link NormalizedKeyOrdering}. */
  record OfJob(NormalizedKeyOrdering<Object> numbers, Comparator<Object> comparator) implements KeyOrder {
    @Override
    public boolean hasPrefix(RowKey key) {
      return key.kind() != Kind.SERIALIZED && key.kind() != Kind.NULL;
    }

    @Override
    public long prefix(RowKey key, int depth) {
      return numbers.prefix(key.object());
    }

    @Override
    public boolean hasNextPrefix(long prefix, int depth) {
      return false;
    }

    @Override
    public boolean canSortFullyWithPrefix(int depth) {
      return numbers.canSortFullyWithPrefix();
    }

    @Override
    public int compare(RowKey left, RowKey right) {
      return comparator.compare(left.object(), right.object());
    }
  }

  /** Another order, reversed. */
  record Reversed(KeyOrder forwards) implements KeyOrder {
    @Override
    public boolean hasPrefix(RowKey key) {
      return forwards.hasPrefix(key);
    }

    @Override
    public long prefix(RowKey key, int depth) {
      return ~forwards.prefix(key, depth);
    }

    @Override
    public boolean hasNextPrefix(long prefix, int depth) {
      return forwards.hasNextPrefix(~prefix, depth);
    }

    @Override
    public boolean reaches(RowKey key, int depth) {
      return forwards.reaches(key, depth);
    }

    @Override
    public boolean canSortFullyWithPrefix(int depth) {
      return forwards.canSortFullyWithPrefix(depth);
    }

    @Override
    public int compare(RowKey left, RowKey right) {
      return forwards.compare(right, left);
    }
  }
}
