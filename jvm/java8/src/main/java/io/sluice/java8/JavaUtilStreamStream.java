package io.sluice.java8;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.stream.Stream;

/** For {@link Stream}. */
public final class JavaUtilStreamStream {
  private JavaUtilStreamStream() {}

  @SuppressWarnings("unchecked")
  public static <T> List<T> toList(Stream<T> stream) {
    return (List<T>) Collections.unmodifiableList(new ArrayList<>(Arrays.asList(stream.toArray())));
  }
}
