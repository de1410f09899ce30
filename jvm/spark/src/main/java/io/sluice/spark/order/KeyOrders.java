package io.sluice.spark.order;

import io.sluice.spark.NormalizedKeyOrdering;
import io.sluice.spark.record.RowKey.Kind;
import io.sluice.spark.record.RowKey;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Finds the {@link KeyOrder} that orders as a job's comparator does: for the orderings that Sluice knows, and for those
 * that implement {@link NormalizedKeyOrdering}.
 *
 * <p>Known are the natural order of text, numbers and pairs of these (Scala's {@code Ordering}s of them, Java's and
 * Guava's natural comparators), Guava's order of unsigned bytes, and the reverse of each. Spark's Java API makes a
 * Scala {@code Ordering} of a comparator: the wrapped comparator is examined. {@code Ordering.by} and {@code on} have
 * no known order, because they apply a function first.
 */
final class KeyOrders {
  private static final int MAX_WRAPPERS = 4;
  private static final Set<String> SCALA_NATURAL = Set.of("scala.math.Ordering$Int$", "scala.math.Ordering$Long$",
      "scala.math.Ordering$Short$", "scala.math.Ordering$Byte$", "scala.math.Ordering$Char$",
      "scala.math.Ordering$String$", "scala.math.Ordering$Double$", "scala.math.Ordering$Float$",
      "scala.math.Ordering$Double$TotalOrdering$", "scala.math.Ordering$Float$TotalOrdering$",
      "scala.math.Ordering$Double$IeeeOrdering$", "scala.math.Ordering$Float$IeeeOrdering$",
      "scala.math.Ordering$DeprecatedDoubleOrdering$", "scala.math.Ordering$DeprecatedFloatOrdering$");
  /** On Scala 2.13; that of 2.12 has no name. */
  private static final String PAIRS = "scala.math.Ordering$Tuple2Ordering";
  private static final List<String> JAVA_NATURAL = List.of("java.util.Comparators$NaturalOrderComparator",
      "com.google.common.collect.NaturalOrdering", "org.sparkproject.guava.collect.NaturalOrdering");
  private static final String JAVA_NATURAL_REVERSED = "java.util.Collections$ReverseComparator";
  private static final String UNSIGNED_BYTES = ".UnsignedBytes$LexicographicalComparatorHolder$";
  private static final Set<String> REVERSES = Set.of("scala.math.Ordering$Reverse",
      "java.util.Collections$ReverseComparator2", "com.google.common.collect.ReverseOrdering",
      "org.sparkproject.guava.collect.ReverseOrdering");
  /** Made by {@code Ordering.comparatorToOrdering}, on Scala 2.12 and 2.13. */
  private static final String OF_COMPARATOR = "scala.math.LowPriorityOrderingImplicits$$anon$";

  private KeyOrders() {}

  /** The order of keys like {@code sample} under {@code ordering}; empty when that is not known. */
  static Optional<KeyOrder> of(Comparator<?> ordering, RowKey sample) {
    if (sample.kind() == Kind.SERIALIZED) {
      return Optional.empty();
    }
    Comparator<?> inner = ordering;
    boolean reversed = false;
    for (int i = 0; i < MAX_WRAPPERS; i++) {
      Optional<KeyOrder> known = known(inner, sample);
      if (known.isPresent()) {
        return reversed ? known.map(KeyOrder.Reversed::new) : known;
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

  /** The comparator that is all that {@code wrapper} refers to; null when there is none, or anything else. */
  private static Comparator<?> wrapped(Comparator<?> wrapper) {
    List<Comparator<?>> all = comparators(wrapper);
    return all.size() == 1 ? all.get(0) : null;
  }

  /** The comparators that {@code wrapper} refers to, in the order of its fields; none when it has any other field. */
  private static List<Comparator<?>> comparators(Comparator<?> wrapper) {
    try {
      List<Comparator<?>> all = new ArrayList<>();
      for (Field field : wrapper.getClass().getDeclaredFields()) {
        if (!Modifier.isStatic(field.getModifiers())) {
          if (!Comparator.class.isAssignableFrom(field.getType())) {
            return List.of();
          }
          field.setAccessible(true);
          all.add((Comparator<?>) field.get(wrapper));
        }
      }
      return all;
    } catch (ReflectiveOperationException | RuntimeException closed) {
      // Not open to us: then it stays an unknown ordering, which is always right.
      return List.of();
    }
  }

  /** Of the natural order of pairs, which compares by the orders of their parts. */
  private static Optional<KeyOrder> pairs(Comparator<?> ordering, RowKey sample) {
    List<Comparator<?>> parts = comparators(ordering);
    if (sample.kind() != Kind.PAIR || parts.size() != 2) {
      return Optional.empty();
    }
    return ofPart(parts.get(0), sample.first())
        .flatMap(first -> ofPart(parts.get(1), sample.second()).map(second -> new KeyOrder.Pairs(first, second)));
  }

  /** Not one that asks the job for numbers: it would be given the whole pair. */
  private static Optional<KeyOrder> ofPart(Comparator<?> ordering, RowKey sample) {
    return of(ordering, sample).filter(order -> !isOfJob(order));
  }

  private static boolean isOfJob(KeyOrder order) {
    return order instanceof KeyOrder.OfJob
        || order instanceof KeyOrder.Reversed && isOfJob(((KeyOrder.Reversed) order).forwards());
  }

  @SuppressWarnings("unchecked") // An ordering of the job's keys takes the job's keys.
  private static Optional<KeyOrder> known(Comparator<?> ordering, RowKey sample) {
    if (ordering instanceof NormalizedKeyOrdering<?> numbers) {
      return Optional.of(new KeyOrder.OfJob((NormalizedKeyOrdering<Object>) numbers, (Comparator<Object>) ordering));
    }
    String name = ordering.getClass().getName();
    if (SCALA_NATURAL.contains(name) || JAVA_NATURAL.contains(name)) {
      return natural(sample.kind());
    }
    if (name.equals(JAVA_NATURAL_REVERSED)) {
      return natural(sample.kind()).map(KeyOrder.Reversed::new);
    }
    if (name.equals(PAIRS)) {
      return pairs(ordering, sample);
    }
    return name.contains(UNSIGNED_BYTES) && sample.kind() == Kind.BYTES
        ? Optional.of(new KeyOrder.UnsignedBytes()) : Optional.empty();
  }

  private static Optional<KeyOrder> natural(Kind kind) {
    return switch (kind) {
      case LATIN1 -> Optional.of(new KeyOrder.NarrowText());
      case UTF16 -> Optional.of(new KeyOrder.WideText());
      case BYTE, SHORT, CHARACTER, INTEGER, LONG -> Optional.of(new KeyOrder.Numbers(kind));
      case FLOAT, DOUBLE -> Optional.of(new KeyOrder.FloatingNumbers(kind));
      default -> Optional.empty();
    };
  }
}
