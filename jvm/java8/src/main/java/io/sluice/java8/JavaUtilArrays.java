package io.sluice.java8;

import java.util.Arrays;

/** For {@link Arrays}. */
public final class JavaUtilArrays {
  private JavaUtilArrays() {}

  public static boolean equals(byte[] a, int aFrom, int aTo, byte[] b, int bFrom, int bTo) {
    JavaUtilObjects.checkFromToIndex(aFrom, aTo, a.length);
    JavaUtilObjects.checkFromToIndex(bFrom, bTo, b.length);
    if (aTo - aFrom != bTo - bFrom) {
      return false;
    }
    for (int i = 0; i < aTo - aFrom; i++) {
      if (a[aFrom + i] != b[bFrom + i]) {
        return false;
      }
    }
    return true;
  }
}
