package io.sluice.bench.workload;

import java.io.Serializable;
import java.util.Comparator;

/** The order of byte arrays as unsigned bytes, written by hand, as programs do that know no library for it. */
final class UnsignedBytesOrder implements Comparator<byte[]>, Serializable {

  private static final long serialVersionUID = 1L;

  @Override
  public int compare(byte[] left, byte[] right) {
    int common = Math.min(left.length, right.length);
    for (int i = 0; i < common; i++) {
      int order = (left[i] & 0xFF) - (right[i] & 0xFF);
      if (order != 0) {
        return order;
      }
    }
    return left.length - right.length;
  }
}
