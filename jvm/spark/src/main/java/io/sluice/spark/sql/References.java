package io.sluice.spark.sql;

import org.apache.spark.memory.TaskMemoryManager;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.array.LongArray;

/**
 * References to rows: each one's address, as {@link TaskMemoryManager} encodes it, and a number to sort it by. They lie
 * in the first half of an array, the second half is for sorting them. The array belongs to the caller. One thread.
 *
 * <pre>
 *   | address, number | address, number | …          | as much again |
 * </pre>
 */
final class References {
  /** Longs of a reference. */
  static final int LONGS = 2;
  /** So that the array's length is an int. */
  static final int MOST = 1 << 28;

  private static final int BYTES = LONGS * Long.BYTES;

  private final LongArray array;
  private final Object base;
  private final long start;
  private int size;

  References(LongArray array) {
    this.array = array;
    this.base = array.getBaseObject();
    this.start = array.getBaseOffset();
  }

  LongArray array() {
    return array;
  }

  int size() {
    return size;
  }

  int capacity() {
    return (int) Math.min(MOST, array.size() / (2 * LONGS));
  }

  void add(long address, long number) {
    set(size, address, number);
    size++;
  }

  /** Adds a reference at {@code index}; the one that was there becomes the last. */
  void addAt(int index, long address, long number) {
    add(address(index), number(index));
    set(index, address, number);
  }

  /** Takes all references of another object. */
  void takeFrom(References other) {
    Platform.copyMemory(other.base, other.start, base, start, (long) other.size * BYTES);
    size = other.size;
  }

  long address(int index) {
    return Platform.getLong(base, start + (long) index * BYTES);
  }

  long number(int index) {
    return Platform.getLong(base, start + (long) index * BYTES + Long.BYTES);
  }

  void set(int index, long address, long number) {
    long at = start + (long) index * BYTES;
    Platform.putLong(base, at, address);
    Platform.putLong(base, at + Long.BYTES, number);
  }
}
