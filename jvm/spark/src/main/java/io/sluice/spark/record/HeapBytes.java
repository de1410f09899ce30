package io.sluice.spark.record;

import java.io.OutputStream;
import java.util.Arrays;

/**
 * Collects bytes in an array on the heap, which is read without a copy. Unlike the JDK's, it takes no lock a call:
 * streams of objects write few bytes at a time. One thread.
 */
final class HeapBytes extends OutputStream {
  static final int FIRST_BYTES = 512;
  private static final int MOST_BYTES = Integer.MAX_VALUE - 8;

  private byte[] array;
  private int size;

  /** @param expected bytes, for which the array does not grow */
  HeapBytes(int expected) {
    array = new byte[expected];
  }

  @Override
  public void write(int value) {
    if (size == array.length) {
      grow(1);
    }
    array[size++] = (byte) value;
  }

  @Override
  public void write(byte[] source, int from, int count) {
    if (count > array.length - size) {
      grow(count);
    }
    System.arraycopy(source, from, array, size, count);
    size += count;
  }

  private void grow(int count) {
    long needed = (long) size + count;
    if (needed > MOST_BYTES) {
      throw new OutOfMemoryError(
          "serialized records of a partition exceed " + MOST_BYTES + " bytes: the serialized bytes"
              + " of one record must fit one Java array");
    }
    array = Arrays.copyOf(array, (int) Math.min(MOST_BYTES, Math.max(needed, 2L * array.length)));
  }

  byte[] array() {
    return array;
  }

  int size() {
    return size;
  }

  void appendTo(HeapBytes target) {
    target.write(array, 0, size);
  }

  /** Forgets the bytes, and the array if a large record made it longer than {@code most}. */
  void reset(int most) {
    size = 0;
    if (array.length > most) {
      array = new byte[FIRST_BYTES];
    }
  }
}
