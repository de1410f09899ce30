package io.sluice.spark.gpu;

import org.apache.spark.unsafe.Platform;

/**
 * Pairs of an address and a number, 16 bytes each, that are to be sorted by some bytes of the numbers, and the room to
 * which the sorted ones go.
 *
 * @param array with both; null if they are off the heap
 * @param source where the pairs begin: a place in the array, in longs, or else an address
 * @param target where the sorted ones go, likewise
 * @param count of pairs
 * @param low the lowest byte of the numbers that counts; 0 is the lowest of all
 * @param high the highest
 */
record PairRange(long[] array, long source, long target, int count, int low, int high) {
  private static final int BYTES = 2 * Long.BYTES;

  /** @param base of both offsets, as for {@link Platform}: an array of longs, or null */
  static PairRange of(Object base, long source, long target, int count, int low, int high) {
    return base == null ? new PairRange(null, source, target, count, low, high)
        : new PairRange((long[]) base, place(source), place(target), count, low, high);
  }

  private static long place(long offset) {
    return (offset - Platform.LONG_ARRAY_OFFSET) / Long.BYTES;
  }

  /** Bytes of so many pairs. */
  static long bytes(int count) {
    return (long) count * BYTES;
  }
}
