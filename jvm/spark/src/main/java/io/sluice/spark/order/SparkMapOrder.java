package io.sluice.spark.order;

import io.sluice.spark.record.DistinctKeys;
import org.apache.spark.unsafe.hash.Murmur3_x86_32;

/**
 * The order in which Spark's {@code AppendOnlyMap} has keys that were added to it: that of their hashes, and of keys that
 * collide almost that of their arrival. Spark promises no order, but programs see the same one in each run, whatever the
 * order in which blocks arrive, and their authors compare it with stock's.
 *
 * <p>The map's positions are computed as the map does, its growth included: open addressing in a table of a power of two,
 * {@code murmur3} of the hash code, steps of 1, 2, 3, …; the table doubles when it is more than seven tenths full, and
 * old positions are then filled in again in their order. Null comes first.
 */
final class SparkMapOrder {
  private static final int FIRST_CAPACITY = 64;
  private static final double LOAD_FACTOR = 0.7;

  /** By the keys' numbers. */
  private final int[] hashes;
  /** Number + 1 by position; 0 is free. */
  private int[] table = new int[FIRST_CAPACITY];
  private int growThreshold = threshold(FIRST_CAPACITY);

  private SparkMapOrder(int[] hashes) {
    this.hashes = hashes;
  }

  /** The numbers of {@code keys}, in the order of a map to which they were added by their numbers. */
  static int[] of(DistinctKeys keys) {
    int[] hashes = keys.hashCodes();
    for (int i = 0; i < hashes.length; i++) {
      hashes[i] = Murmur3_x86_32.hashInt(hashes[i], 0);
    }
    SparkMapOrder map = new SparkMapOrder(hashes);
    int nullNumber = keys.nullNumber();
    for (int number = 0; number < hashes.length; number++) {
      if (number != nullNumber) {
        map.put(number);
      }
      if (number + 1 > map.growThreshold) {
        map.grow();
      }
    }
    return map.order(nullNumber);
  }

  private static int threshold(int capacity) {
    return (int) (LOAD_FACTOR * capacity);
  }

  private void put(int number) {
    int mask = table.length - 1;
    int at = hashes[number] & mask;
    for (int step = 1; table[at] != 0; step++) {
      at = at + step & mask;
    }
    table[at] = number + 1;
  }

  private void grow() {
    int[] old = table;
    table = new int[2 * old.length];
    growThreshold = threshold(table.length);
    for (int entry : old) {
      if (entry != 0) {
        put(entry - 1);
      }
    }
  }

  private int[] order(int nullNumber) {
    int[] order = new int[hashes.length];
    int next = 0;
    if (nullNumber >= 0) {
      order[next++] = nullNumber;
    }
    for (int entry : table) {
      if (entry != 0) {
        order[next++] = entry - 1;
      }
    }
    return order;
  }
}
