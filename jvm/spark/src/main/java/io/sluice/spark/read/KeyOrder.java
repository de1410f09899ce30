package io.sluice.spark.read;

import io.sluice.spark.NormalizedKeyOrdering;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.ToLongFunction;

/**
 * How keys can be sorted by unsigned numbers: for the orderings that Sluice knows, and for those that implement
 * {@link NormalizedKeyOrdering}. Immutable.
 *
 * <p>Known are the natural order of text and numbers (Scala's {@code Ordering}s of them, Java's and Guava's natural
 * comparators), Guava's order of unsigned bytes, and the reverse of each. Spark's Java API makes a Scala {@code Ordering}
 * of a comparator; that is looked through. {@code Ordering.by} and {@code on} are not: they apply a function first.
 *
 * @param keys the class of the keys that have numbers
 * @param prefix a key's number: smaller means smaller
 * @param decidesAlone whether keys with the same number are equal
 */
record KeyOrder(Class<?> keys, ToLongFunction<Object> prefix, boolean decidesAlone) {
  private static final int CHARACTERS = 4;
  private static final int MOST_WRAPPERS = 4;
  private static final Set<String> SCALA_NATURAL = Set.of("scala.math.Ordering$Int$", "scala.math.Ordering$Long$",
      "scala.math.Ordering$Short$", "scala.math.Ordering$Byte$", "scala.math.Ordering$Char$", "scala.math.Ordering$String$");
  private static final List<String> JAVA_NATURAL = List.of("java.util.Comparators$NaturalOrderComparator",
      "com.google.common.collect.NaturalOrdering", "org.sparkproject.guava.collect.NaturalOrdering");
  private static final String UNSIGNED_BYTES = ".UnsignedBytes$LexicographicalComparatorHolder$";
  private static final Set<String> REVERSES = Set.of("scala.math.Ordering$Reverse",
      "java.util.Collections$ReverseComparator2", "com.google.common.collect.ReverseOrdering",
      "org.sparkproject.guava.collect.ReverseOrdering");
  /** Made by {@code Ordering.comparatorToOrdering}, on Scala 2.12 and 2.13. */
  private static final String OF_COMPARATOR = "scala.math.LowPriorityOrderingImplicits$$anon$";

  /**
   * The numbers for keys of {@code sample}'s class under {@code ordering}; empty when the ordering is not known, or not
   * for that class.
   */
  static Optional<KeyOrder> of(Comparator<?> ordering, Object sample) {
    Comparator<?> inner = ordering;
    boolean reversed = false;
    for (int i = 0; i < MOST_WRAPPERS; i++) {
      Optional<KeyOrder> known = known(inner, sample);
      if (known.isPresent()) {
        return reversed ? known.map(KeyOrder::reversed) : known;
      }
      String name = inner.getClass().getName();
      boolean reverse = REVERSES.contains(name);
      Comparator<?> next = reverse || name.startsWith(OF_COMPARATOR) ? wrapped(inner) : null;
      if (next == null) {
        return Optional.empty();
      }
      reversed ^= reverse;
      inner = next;
    }
    return Optional.empty();
  }

  private KeyOrder reversed() {
    return new KeyOrder(keys, key -> ~prefix.applyAsLong(key), decidesAlone);
  }

  /** Whether {@code key} has a number: null and keys of other classes are left to the comparator. */
  boolean takes(Object key) {
    return keys.isInstance(key);
  }

  /** The comparator that is all that {@code wrapper} refers to; null when there is none, or anything else. */
  private static Comparator<?> wrapped(Comparator<?> wrapper) {
    try {
      List<Field> fields = Arrays.stream(wrapper.getClass().getDeclaredFields())
          .filter(field -> !Modifier.isStatic(field.getModifiers()))
          .toList();
      if (fields.size() != 1 || !Comparator.class.isAssignableFrom(fields.get(0).getType())) {
        return null;
      }
      fields.get(0).setAccessible(true);
      return (Comparator<?>) fields.get(0).get(wrapper);
    } catch (ReflectiveOperationException | RuntimeException closed) {
      // Not open to us: then it stays an unknown ordering, which is always right.
      return null;
    }
  }

  @SuppressWarnings("unchecked") // An ordering of the job's keys takes the job's keys.
  private static Optional<KeyOrder> known(Comparator<?> ordering, Object sample) {
    if (ordering instanceof NormalizedKeyOrdering<?> normalized) {
      NormalizedKeyOrdering<Object> ofKeys = (NormalizedKeyOrdering<Object>) normalized;
      return Optional.of(new KeyOrder(Object.class, ofKeys::prefix, ofKeys.decidesAlone()));
    }
    String name = ordering.getClass().getName();
    if (SCALA_NATURAL.contains(name) || JAVA_NATURAL.contains(name)) {
      return natural(sample);
    }
    return name.contains(UNSIGNED_BYTES) && sample instanceof byte[]
        ? Optional.of(new KeyOrder(byte[].class, key -> ofBytes((byte[]) key), false)) : Optional.empty();
  }

  private static Optional<KeyOrder> natural(Object sample) {
    if (sample instanceof String) {
      return Optional.of(new KeyOrder(String.class, key -> ofText((String) key), false));
    } else if (sample instanceof Integer || sample instanceof Long || sample instanceof Short || sample instanceof Byte) {
      return Optional.of(
          new KeyOrder(sample.getClass(), key -> ((Number) key).longValue() ^ Long.MIN_VALUE, true));
    } else if (sample instanceof Character) {
      return Optional.of(new KeyOrder(Character.class, key -> (Character) key, true));
    }
    return Optional.empty();
  }

  /** The first eight bytes; a shorter key sorts before its extensions or with them. */
  private static long ofBytes(byte[] key) {
    long prefix = 0;
    for (int i = 0; i < Long.BYTES; i++) {
      prefix = prefix << Byte.SIZE | (i < key.length ? Byte.toUnsignedInt(key[i]) : 0);
    }
    return prefix;
  }

  /** The first four UTF-16 units, which is how {@code String.compareTo} compares. */
  private static long ofText(String key) {
    long prefix = 0;
    for (int i = 0; i < CHARACTERS; i++) {
      prefix = prefix << Character.SIZE | (i < key.length() ? key.charAt(i) : 0);
    }
    return prefix;
  }
}
