package io.sluice.java8;

import java.util.Arrays;

/** Called by records of the Java 8 classes in their {@code equals}, {@code hashCode} and {@code toString}. */
public final class Records {
  private Records() {}

  /** @param names the components' names, separated by semicolons */
  public static String toString(Class<?> type, String names, Object[] values) {
    StringBuilder text = new StringBuilder(type.getSimpleName()).append('[');
    String[] each = names.split(";");
    for (int i = 0; i < values.length; i++) {
      text.append(i == 0 ? "" : ", ").append(each[i]).append('=').append(values[i]);
    }
    return text.append(']').toString();
  }

  public static int hashCode(Object[] values) {
    return Arrays.hashCode(values);
  }

  public static boolean equals(Object[] values, Object[] others) {
    return Arrays.equals(values, others);
  }
}
