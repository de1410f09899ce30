package io.sluice.java8;

import java.util.OptionalInt;
import java.util.stream.IntStream;

/** For {@link OptionalInt}. */
public final class JavaUtilOptionalInt {
  private JavaUtilOptionalInt() {}

  public static boolean isEmpty(OptionalInt optional) {
    return !optional.isPresent();
  }

  public static int orElseThrow(OptionalInt optional) {
    return optional.getAsInt();
  }

  public static IntStream stream(OptionalInt optional) {
    return optional.isPresent() ? IntStream.of(optional.getAsInt()) : IntStream.empty();
  }
}
