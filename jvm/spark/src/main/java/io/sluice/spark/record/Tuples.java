package io.sluice.spark.record;

import java.lang.reflect.Constructor;
import java.util.HashMap;
import java.util.Map;
import scala.Product;

/**
 * Scala's tuples of one part, and of six parts and more, which have a class each. Those of two to five have a {@link
 * NestedTag} each.
 */
final class Tuples {
  static final int MOST_PARTS = 22;
  /** By the number of parts; null where there is none. */
  private static final Constructor<?>[] CONSTRUCTORS = constructors();

  private Tuples() {}

  private static Constructor<?>[] constructors() {
    Constructor<?>[] all = new Constructor<?>[MOST_PARTS + 1];
    for (int parts = 1; parts <= MOST_PARTS; parts = parts == 1 ? 6 : parts + 1) {
      try {
        all[parts] = Class.forName("scala.Tuple" + parts).getConstructors()[0];
      } catch (ClassNotFoundException e) {
        throw new NoClassDefFoundError(e.getMessage());
      }
    }
    return all;
  }

  /** The tag {@link NestedTag#TUPLE} for each of the classes. */
  static Map<Class<?>, Integer> tags() {
    Map<Class<?>, Integer> tags = new HashMap<>();
    for (Constructor<?> constructor : CONSTRUCTORS) {
      if (constructor != null) {
        tags.put(constructor.getDeclaringClass(), NestedTag.TUPLE);
      }
    }
    return tags;
  }

  /** A tuple of {@code parts}; null if there is none of so many. */
  static Product of(Object[] parts) {
    if (parts.length > MOST_PARTS || CONSTRUCTORS[parts.length] == null) {
      return null;
    }
    try {
      return (Product) CONSTRUCTORS[parts.length].newInstance(parts);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("cannot make a tuple of " + parts.length + " parts", e);
    }
  }
}
