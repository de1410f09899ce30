package io.sluice.java8;

import java.util.OptionalLong;
import java.util.stream.LongStream;

/** For {@link OptionalLong}. */
public final class JavaUtilOptionalLong {
  private JavaUtilOptionalLong() {}

  public static boolean isEmpty(OptionalLong optional) {
    return !optional.isPresent();
  }

  public static long orElseThrow(OptionalLong optional) {
    return optional.getAsLong();
  }

  public static LongStream stream(OptionalLong optional) {
    return optional.isPresent() ? LongStream.of(optional.getAsLong()) : LongStream.empty();
  }
}
