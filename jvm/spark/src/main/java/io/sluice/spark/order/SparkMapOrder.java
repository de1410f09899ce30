package io.sluice.spark.order;

import io.sluice.spark.record.DistinctKeys;
import org.apache.spark.unsafe.hash.Murmur3_x86_32;

/**
 * The order in which Spark's {@code AppendOnlyMap} has keys that were added to it: that of their hashes, and of keys
 * that collide almost that of their arrival. Spark promises no order, but people see the same one in each run, whatever
 * the order in which blocks arrive, and compare it with stock's. So small results have it. For many keys it would cost
 * as much as combining them: keys and combiners are then read out of the order in which they lie in memory.
 *
 * <p>The map's positions are computed as the map does, its growth included: open addressing in a table of a power of
 * two, {@code murmur3} of the hash code, steps of 1, 2, 3, …; the table doubles when it is more than seven tenths full,
 * and old positions are then filled in again in their order. Null comes first.
 */
final class SparkMapOrder {
  /** Up to so many keys, what an order by hash reads is in the processor's own cache. */
  static final int MOST_KEYS = 4096;

  private static final int FIRST_CAPACITY = 64;
  private static final double LOAD_FACTOR = 0.7;
  private static final int HASH_SHIFT = 32;

  /** By position: the key's hash, and its number + 1; 0 is free. */
  private long[] table = new long[FIRST_CAPACITY];
  private int growThreshold = threshold(FIRST_CAPACITY);

  private SparkMapOrder() {}

  /** The numbers of {@code keys}, in the order of a map to which they were added by their numbers. */
  static int[] of(DistinctKeys keys) {
    int[] hashCodes = keys.hashCodes();
    int nullNumber = keys.nullNumber();
    SparkMapOrder map = new SparkMapOrder();
    for (int number = 0; number < hashCodes.length; number++) {
      if (number != nullNumber) {
        map.put((long) Murmur3_x86_32.hashInt(hashCodes[number], 0) << HASH_SHIFT | number + 1);
      }
      if (number + 1 > map.growThreshold) {
        map.grow();
      }
    }
    return map.order(hashCodes, nullNumber);
  }

  private static int threshold(int capacity) {
    return (int) (LOAD_FACTOR * capacity);
  }

  private void put(long entry) {
    int mask = table.length - 1;
    int at = (int) (entry >>> HASH_SHIFT) & mask;
    for (int step = 1; table[at] != 0; step++) {
      at = at + step & mask;
    }
    table[at] = entry;
  }

  private void grow() {
    long[] old = table;
    table = new long[2 * old.length];
    growThreshold = threshold(table.length);
    for (long entry : old) {
      if (entry != 0) {
        put(entry);
      }
    }
  }

  /** @param order where the order is put */
  private int[] order(int[] order, int nullNumber) {
    int next = 0;
    if (nullNumber >= 0) {
      order[next++] = nullNumber;
    }
    for (long entry : table) {
      if (entry != 0) {
        order[next++] = (int) entry - 1;
      }
    }
    return order;
  }
}
