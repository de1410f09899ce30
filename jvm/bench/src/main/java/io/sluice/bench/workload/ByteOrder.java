package io.sluice.bench.workload;

import java.io.Serializable;
import java.util.Arrays;
import java.util.Comparator;

/** TeraSort's order of keys: byte by byte, unsigned. */
public final class ByteOrder implements Comparator<byte[]>, Serializable {

  private static final long serialVersionUID = 1L;

  @Override
  public int compare(byte[] left, byte[] right) {
    return Arrays.compareUnsigned(left, right);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof ByteOrder;
  }

  @Override
  public int hashCode() {
    return ByteOrder.class.hashCode();
  }
}
