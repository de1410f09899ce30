package io.sluice.spark.record;

import java.io.InputStream;

/** Reads an array. Unlike the JDK's, it takes no lock a call: streams of objects read byte by byte. One thread. */
final class HeapInput extends InputStream {
  private final byte[] array;
  private int next;

  HeapInput(byte[] array) {
    this.array = array;
  }

  @Override
  public int read() {
    return next < array.length ? array[next++] & 0xFF : -1;
  }

  @Override
  public int read(byte[] target, int from, int most) {
    if (most == 0) {
      return 0;
    }
    int count = Math.min(most, array.length - next);
    if (count <= 0) {
      return -1;
    }
    System.arraycopy(array, next, target, from, count);
    next += count;
    return count;
  }

  @Override
  public long skip(long most) {
    int count = (int) Math.max(0, Math.min(most, array.length - next));
    next += count;
    return count;
  }

  @Override
  public int available() {
    return array.length - next;
  }
}
