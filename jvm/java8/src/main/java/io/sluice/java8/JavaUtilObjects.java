package io.sluice.java8;

import java.util.Objects;

/** For {@link Objects}. */
public final class JavaUtilObjects {
  private JavaUtilObjects() {}

  public static int checkIndex(int index, int length) {
    if (index < 0 || index >= length) {
      throw new IndexOutOfBoundsException("index " + index + " of length " + length);
    }
    return index;
  }

  public static int checkFromIndexSize(int from, int size, int length) {
    if ((from | size | length) < 0 || size > length - from) {
      throw new IndexOutOfBoundsException(size + " from " + from + " of length " + length);
    }
    return from;
  }

  public static int checkFromToIndex(int from, int to, int length) {
    if (from < 0 || from > to || to > length) {
      throw new IndexOutOfBoundsException("from " + from + " to " + to + " of length " + length);
    }
    return from;
  }

  public static <T> T requireNonNullElse(T value, T otherwise) {
    return value != null ? value : Objects.requireNonNull(otherwise);
  }
}
