package io.sluice.java8;

import java.util.Collection;
import java.util.function.IntFunction;

/** For {@link Collection}. */
public final class JavaUtilCollection {
  private JavaUtilCollection() {}

  public static <T> Object[] toArray(Collection<?> collection, IntFunction<T[]> generator) {
    return collection.toArray(generator.apply(0));
  }
}
