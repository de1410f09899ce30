package io.sluice.spark.order;

import io.sluice.spark.NormalizedKeyOrdering;
import io.sluice.spark.record.RowKey.Kind;
import io.sluice.spark.record.RowKey;
import java.util.Comparator;

/**
 * An order of keys that are stored in rows: by an unsigned number made of each key; where two numbers are equal, by
 * further numbers ({@link #goesOn}); where all are equal, by {@link #compare}. {@link KeyOrders} finds the one that
 * stands for a job's comparator. Immutable, any thread.
 */
interface KeyOrder {

  /** Whether {@code key} has a number; a key without one is compared by the job's comparator. */
  boolean takes(RowKey key);

  /**
   * The key's number, compared as unsigned: smaller means smaller. Only for a key that {@link #takes} accepts.
   *
   * @param depth 0 for the first number; one more among keys whose number at this depth is equal and {@link #goesOn}
   */
  long prefix(RowKey key, int depth);

  /** Whether keys that are all equal up to this number can be ordered by their numbers at the next depth. */
  boolean goesOn(long number);

  /** Whether keys with the same number are equal. */
  boolean decidesAlone();

  /** Compares two keys that {@link #takes} accepts, as the job's comparator would. */
  int compare(RowKey left, RowKey right);

  /** Keys that are numbers or characters of one class, in their natural order. */
  record Numbers(Kind kind) implements KeyOrder {
    @Override
    public boolean takes(RowKey key) {
      return key.kind() == kind;
    }

    @Override
    public long prefix(RowKey key, int depth) {
      return key.number() ^ Long.MIN_VALUE;
    }

    @Override
    public boolean goesOn(long number) {
      return false;
    }

    @Override
    public boolean decidesAlone() {
      return true;
    }

    @Override
    public int compare(RowKey left, RowKey right) {
      return Long.compare(left.number(), right.number());
    }
  }

  /** Arrays of bytes, byte by byte, unsigned; a shorter one before its extensions. A number is eight bytes. */
  record UnsignedBytes() implements KeyOrder {
    @Override
    public boolean takes(RowKey key) {
      return key.kind() == Kind.BYTES;
    }

    @Override
    public long prefix(RowKey key, int depth) {
      return key.eightBytes(depth * Long.BYTES);
    }

    @Override
    public boolean goesOn(long number) {
      return true;
    }

    @Override
    public boolean decidesAlone() {
      return false;
    }

    @Override
    public int compare(RowKey left, RowKey right) {
      return left.compareBytes(right);
    }
  }

  /** Text by its UTF-16 units, as {@code String.compareTo} compares. */
  interface Text extends KeyOrder {
    @Override
    default boolean takes(RowKey key) {
      return key.kind() == Kind.LATIN1 || key.kind() == Kind.UTF16;
    }

    @Override
    default boolean decidesAlone() {
      return false;
    }

    @Override
    default int compare(RowKey left, RowKey right) {
      return left.compareText(right);
    }
  }

  /**
   * Text that is mostly Latin-1. A number has a byte for each of eight units; one that needs more than a byte, or has
   * the largest one, is 0xFF and the last.
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
    public boolean goesOn(long number) {
      return !hasLast(number);
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

  /** Text that is mostly not Latin-1. A number is four units. */
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
    public boolean goesOn(long number) {
      return true;
    }
  }

  /** What the job says of its own keys. */
  record OfJob(NormalizedKeyOrdering<Object> numbers, Comparator<Object> comparator) implements KeyOrder {
    @Override
    public boolean takes(RowKey key) {
      return key.kind() != Kind.SERIALIZED && key.kind() != Kind.NULL;
    }

    @Override
    public long prefix(RowKey key, int depth) {
      return numbers.prefix(key.object());
    }

    @Override
    public boolean goesOn(long number) {
      return false;
    }

    @Override
    public boolean decidesAlone() {
      return numbers.decidesAlone();
    }

    @Override
    public int compare(RowKey left, RowKey right) {
      return comparator.compare(left.object(), right.object());
    }
  }

  /** Another order, reversed. */
  record Reversed(KeyOrder forwards) implements KeyOrder {
    @Override
    public boolean takes(RowKey key) {
      return forwards.takes(key);
    }

    @Override
    public long prefix(RowKey key, int depth) {
      return ~forwards.prefix(key, depth);
    }

    @Override
    public boolean goesOn(long number) {
      return forwards.goesOn(~number);
    }

    @Override
    public boolean decidesAlone() {
      return forwards.decidesAlone();
    }

    @Override
    public int compare(RowKey left, RowKey right) {
      return forwards.compare(right, left);
    }
  }
}
