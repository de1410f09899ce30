package io.sluice.spark.order;

import io.sluice.spark.NormalizedKeyOrdering;
import io.sluice.spark.record.KeyPart.Kind;
import io.sluice.spark.record.KeyStructure;
import io.sluice.spark.record.RowKey;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import scala.Function1;
import scala.Predef$;

/**
 * Finds the {@link KeyOrder} that orders as a job's comparator does: for the orderings that Sluice knows, and for those
 * that implement {@link NormalizedKeyOrdering}.
 *
 * <p>Known are the natural order of text, numbers, decimals, dates, times and Hadoop's writables (Scala's {@code
 * Ordering}s of them and of what is {@code Comparable}, Java's and Guava's natural comparators), Guava's order of
 * unsigned bytes, Scala's orderings of tuples of these, also within each other, and the reverse of each. Spark's Java
 * API makes a Scala {@code Ordering} of a comparator: the wrapped comparator is examined. {@code Ordering.by} and
 * {@code on} have no known order, because they apply a function first.
 */
final class KeyOrders {
  private static final int MAX_WRAPPERS = 4;
  private static final Set<String> SCALA_NATURAL = Set.of("scala.math.Ordering$Int$", "scala.math.Ordering$Long$",
      "scala.math.Ordering$Short$", "scala.math.Ordering$Byte$", "scala.math.Ordering$Char$",
      "scala.math.Ordering$Boolean$", "scala.math.Ordering$BigInt$", "scala.math.Ordering$BigDecimal$",
      "scala.math.Ordering$String$", "scala.math.Ordering$Double$", "scala.math.Ordering$Float$",
      "scala.math.Ordering$Double$TotalOrdering$", "scala.math.Ordering$Float$TotalOrdering$",
      "scala.math.Ordering$Double$IeeeOrdering$", "scala.math.Ordering$Float$IeeeOrdering$",
      "scala.math.Ordering$DeprecatedDoubleOrdering$", "scala.math.Ordering$DeprecatedFloatOrdering$");
  /** Of up to nine elements; Scala has none for more. */
  private static final Pattern TUPLES = Pattern.compile("scala\\.math\\.Ordering\\$Tuple\\dOrdering");
  private static final List<String> JAVA_NATURAL = List.of("java.util.Comparators$NaturalOrderComparator",
      "com.google.common.collect.NaturalOrdering", "org.sparkproject.guava.collect.NaturalOrdering");
  private static final String JAVA_NATURAL_REVERSED = "java.util.Collections$ReverseComparator";
  private static final String UNSIGNED_BYTES = ".UnsignedBytes$LexicographicalComparatorHolder$";
  private static final Set<String> REVERSES = Set.of("scala.math.Ordering$Reverse",
      "java.util.Collections$ReverseComparator2", "com.google.common.collect.ReverseOrdering",
      "org.sparkproject.guava.collect.ReverseOrdering");
  /** Made by {@code Ordering.comparatorToOrdering} and {@code Ordering.ordered}, on Scala 2.12 and 2.13. */
  private static final String OF_OTHER = "scala.math.LowPriorityOrderingImplicits$$anon$";

  private KeyOrders() {}

  /** The order of keys like {@code sample} under {@code ordering}; empty when that is not known. */
  static Optional<KeyOrder> of(Comparator<?> ordering, RowKey sample) {
    if (sample.isSerialized()) {
      return Optional.empty();
    }
    Unwrapped unwrapped = Unwrapped.of(ordering);
    if (unwrapped.inner() instanceof NormalizedKeyOrdering) {
      @SuppressWarnings("unchecked") // An ordering of the job's keys takes the job's keys.
      KeyOrder ofJob = new KeyOrder.OfJob((NormalizedKeyOrdering<Object>) unwrapped.inner(),
          (Comparator<Object>) unwrapped.inner(), unwrapped.reversed());
      return Optional.of(ofJob);
    }
    return byParts(ordering, sample).map(order -> order);
  }

  /** As {@link #of}, but not by numbers of the job's. */
  static Optional<OrderByParts> byParts(Comparator<?> ordering, RowKey sample) {
    if (!sample.hasParts()) {
      return Optional.empty();
    }
    List<OrderByParts.Step> steps = new ArrayList<>();
    KeyStructure structure = sample.structure();
    return addSteps(steps, ordering, structure, sample, 0, false)
        ? Optional.of(new OrderByParts(structure, steps)) : Optional.empty();
  }

  /**
   * Adds the order of keys, or of elements of keys that are tuples.
   *
   * @param from index of the first part of {@code sample} that they have
   * @return false when the ordering is not known; some steps may have been added
   */
  private static boolean addSteps(List<OrderByParts.Step> steps, Comparator<?> ordering, KeyStructure structure,
      RowKey sample, int from, boolean reversed) {
    Unwrapped unwrapped = Unwrapped.of(ordering);
    Comparator<?> inner = unwrapped.inner();
    boolean against = reversed ^ unwrapped.reversed();
    String name = inner.getClass().getName();
    if (structure.isTuple()) {
      return TUPLES.matcher(name).matches()
          && addElements(steps, comparators(inner), structure, sample, from, against);
    }
    boolean natural = structure.comparesByParts() && isNatural(inner, name);
    if (!natural && !(structure.isByteArray() && name.contains(UNSIGNED_BYTES))) {
      return false;
    }
    for (int part = from; part < from + structure.parts(); part++) {
      PartOrder order = natural(sample.part(part).kind());
      steps.add(new OrderByParts.Step(part, against ? new PartOrder.Reversed(order) : order));
    }
    return true;
  }

  /** Scala's orderings of tuples compare by the orderings of their elements, one after the other. */
  private static boolean addElements(List<OrderByParts.Step> steps, List<Comparator<?>> orderings,
      KeyStructure structure, RowKey sample, int from, boolean reversed) {
    int part = from;
    boolean known = orderings.size() == structure.elements().size();
    for (int i = 0; known && i < orderings.size(); i++) {
      KeyStructure element = structure.elements().get(i);
      known = addSteps(steps, orderings.get(i), element, sample, part, reversed);
      part += element.parts();
    }
    return known;
  }

  private static boolean isNatural(Comparator<?> ordering, String name) {
    return SCALA_NATURAL.contains(name) || JAVA_NATURAL.contains(name)
        || name.startsWith(OF_OTHER) && comparesAsItIs(ordering);
  }

  /** Whether it is {@code Ordering.ordered} for a class that is {@code Comparable} itself. */
  private static boolean comparesAsItIs(Comparator<?> ordering) {
    try {
      Field[] fields = ordering.getClass().getDeclaredFields();
      if (fields.length != 1 || !Function1.class.isAssignableFrom(fields[0].getType())) {
        return false;
      }
      fields[0].setAccessible(true);
      // Its return type differs between Scala 2.12 and 2.13. An instance that was sent to an executor is another one.
      Object identity = Predef$.class.getMethod("$conforms").invoke(Predef$.MODULE$);
      return fields[0].get(ordering).getClass() == identity.getClass();
    } catch (ReflectiveOperationException | RuntimeException closed) {
      // Not open to us: then it stays an unknown ordering, which is always right.
      return false;
    }
  }

  /** The natural order of a part. */
  static PartOrder natural(Kind kind) {
    return switch (kind) {
      case BYTES -> new PartOrder.UnsignedBytes();
      case LATIN1 -> new PartOrder.NarrowText();
      case UTF16 -> new PartOrder.WideText();
      case FLOAT, DOUBLE -> new PartOrder.Fractions();
      case DECIMAL -> new PartOrder.Decimals();
      default -> PartOrder.Numbers.of(kind);
    };
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

  /**
   * An ordering without what only passes its arguments on.
   *
   * @param reversed whether it passed them on in the other order
   */
  private record Unwrapped(Comparator<?> inner, boolean reversed) {
    static Unwrapped of(Comparator<?> ordering) {
      Comparator<?> inner = ordering;
      boolean reversed = false;
      for (int i = 0; i < MAX_WRAPPERS && !(inner instanceof NormalizedKeyOrdering); i++) {
        String name = inner.getClass().getName();
        if (name.equals(JAVA_NATURAL_REVERSED)) {
          return new Unwrapped(Comparator.naturalOrder(), !reversed);
        }
        boolean reverse = REVERSES.contains(name);
        List<Comparator<?>> wrapped = reverse || name.startsWith(OF_OTHER) ? comparators(inner) : List.of();
        if (wrapped.size() != 1) {
          break;
        }
        reversed ^= reverse;
        inner = wrapped.get(0);
      }
      return new Unwrapped(inner, reversed);
    }
  }
}
