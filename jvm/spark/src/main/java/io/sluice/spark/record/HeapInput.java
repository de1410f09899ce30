package io.sluice.spark.record;

import java.io.InputStream;

/** Reads an array. Unlike the JDK's, it takes no lock a call: streams of objects read byte by byte. One thread. */
final class HeapInput extends InputStream {
  private final byte[] array;
  private final int end;
  private int next;

  /** @param end index behind the last byte */
  HeapInput(byte[] array, int end) {
    this.array = array;
    this.end = end;
  }

  @Override
  public int read() {
    return next < end ? array[next++] & 0xFF : -1;
  }

  @Override
  public int read(byte[] target, int from, int most) {
    if (most == 0) {
      return 0;
    }
    int count = Math.min(most, end - next);
    if (count <= 0) {
      return -1;
    }
    System.arraycopy(array, next, target, from, count);
    next += count;
    return count;
  }

  @Override
  public long skip(long most) {
    int count = (int) Math.max(0, Math.min(most, end - next));
    next += count;
    return count;
  }

  @Override
  public int available() {
    return end - next;
  }
}
