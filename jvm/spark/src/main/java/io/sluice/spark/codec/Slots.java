package io.sluice.spark.codec;

/**
 * Where the bytes of one field, or of the tails, go: one slot a row, of length 0 where a row has none. All slots lie
 * inside of their rows: whoever adds one has checked that.
 */
final class Slots {
  private final long[] at;
  private final int[] lengths;
  private final int[] sizes;
  private int count;

  Slots(int rows) {
    at = new long[rows];
    lengths = new int[rows];
    sizes = new int[rows];
  }

  /**
   * @param start bytes from the first row's start
   * @param size bytes of the value in it, at most {@code length}; the rest is zero
   */
  void add(long start, int length, int size) {
    at[count] = start;
    lengths[count] = length;
    sizes[count] = size;
    count++;
  }

  int count() {
    return count;
  }

  long at(int row) {
    return at[row];
  }

  int length(int row) {
    return lengths[row];
  }

  int size(int row) {
    return sizes[row];
  }
}
