package io.sluice.spark.write;

import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.apache.spark.Partitioner;
import org.apache.spark.RangePartitioner;
import scala.Tuple2;
import scala.math.Ordering;

/**
 * Finds the range of a key among the bounds of a {@link RangePartitioner}, which compares the key with one bound after
 * the other, or by a binary search where there are more than 128. Here a usual order that agrees with the bounds finds
 * the place, and the partitioner's ordering is asked only about the two bounds beside it: if the key is above the one
 * and not above the other, it is the place that the partitioner finds. One thread.
 */
final class RangeSearch {
  /** Returned where the ordering does not confirm the place. */
  static final int REFUTED = -1;
  /** Returned for null and for keys of another class than the bounds: nothing is guessed, the ordering not asked. */
  static final int NO_GUESS = -2;
  /** With fewer bounds the partitioner is as fast. */
  private static final int LEAST_BOUNDS = 4;
  /** Up to so many bounds the partitioner asks its ordering, whatever the keys' type. */
  private static final int MOST_COMPARED_IN_TURN = 128;
  /** Classes whose natural order is tried. */
  private static final Set<Class<?>> NATURAL = Set.of(String.class, Integer.class, Long.class, Short.class, Byte.class,
      Character.class, Double.class, Float.class);

  private final Object[] bounds;
  private final Ordering<Object> ordering;
  private final boolean ascending;
  private final Comparator<Object> guess;

  private RangeSearch(Object[] bounds, Ordering<Object> ordering, boolean ascending, Comparator<Object> guess) {
    this.bounds = bounds;
    this.ordering = ordering;
    this.ascending = ascending;
    this.guess = guess;
  }

  /** Empty where there is nothing to gain: for other partitioners, few bounds, keys without a usual order. */
  static Optional<RangeSearch> of(Partitioner partitioner) {
    if (partitioner.getClass() != RangePartitioner.class) {
      return Optional.empty();
    }
    try {
      Object array = field(partitioner, "rangeBounds");
      boolean primitive = array.getClass().getComponentType().isPrimitive();
      int count = Array.getLength(array);
      if (count < LEAST_BOUNDS || primitive && count > MOST_COMPARED_IN_TURN) {
        return Optional.empty();
      }
      Object[] bounds = new Object[count];
      Arrays.setAll(bounds, i -> Array.get(array, i));
      @SuppressWarnings("unchecked") // The ordering is that of the bounds.
      Ordering<Object> ordering = (Ordering<Object>) field(partitioner, "ordering");
      boolean ascending = (Boolean) field(partitioner, "ascending");
      return candidates(bounds[0]).stream().filter(guess -> rises(bounds, guess)).findFirst()
          .map(guess -> new RangeSearch(bounds, ordering, ascending, guess));
    } catch (ReflectiveOperationException | RuntimeException closed) {
      // Another Spark's class: its own search is always right.
      return Optional.empty();
    }
  }

  /** Scala names a private field as it is, or with the class before it. */
  private static Object field(Partitioner partitioner, String name) throws ReflectiveOperationException {
    for (Field field : RangePartitioner.class.getDeclaredFields()) {
      if (field.getName().equals(name) || field.getName().endsWith("$$" + name)) {
        field.setAccessible(true);
        return field.get(partitioner);
      }
    }
    throw new NoSuchFieldException(name);
  }

  @SuppressWarnings("unchecked") // Casts are to the bound's own class.
  private static List<Comparator<Object>> candidates(Object bound) {
    if (bound instanceof Tuple2) {
      Tuple2<?, ?> pair = (Tuple2<?, ?>) bound;
      if (pair._1() instanceof Tuple2 || pair._2() instanceof Tuple2) {
        return List.of();
      }
      return pairs(candidates(pair._1()), candidates(pair._2()));
    }
    List<Comparator<Object>> orders = new ArrayList<>();
    if (bound instanceof byte[]) {
      orders.add((left, right) -> compareUnsigned((byte[]) left, (byte[]) right));
      orders.add((left, right) -> compareSigned((byte[]) left, (byte[]) right));
    } else if (bound != null && NATURAL.contains(bound.getClass())) {
      orders.add((left, right) -> ((Comparable<Object>) left).compareTo(right));
    }
    List<Comparator<Object>> all = new ArrayList<>();
    for (Comparator<Object> order : orders) {
      all.add(order);
      all.add((left, right) -> order.compare(right, left));
    }
    return all;
  }

  private static List<Comparator<Object>> pairs(List<Comparator<Object>> firsts, List<Comparator<Object>> seconds) {
    List<Comparator<Object>> all = new ArrayList<>();
    for (Comparator<Object> first : firsts) {
      for (Comparator<Object> second : seconds) {
        all.add((left, right) -> {
          Tuple2<?, ?> one = (Tuple2<?, ?>) left;
          Tuple2<?, ?> other = (Tuple2<?, ?>) right;
          int order = first.compare(one._1(), other._1());
          return order != 0 ? order : second.compare(one._2(), other._2());
        });
      }
    }
    return all;
  }

  /** Whether two keys are of one class; pairs, whether their parts are: Scala has several classes of pairs. */
  private static boolean areAlike(Object one, Object other) {
    if (one instanceof Tuple2 && other instanceof Tuple2) {
      Tuple2<?, ?> left = (Tuple2<?, ?>) one;
      Tuple2<?, ?> right = (Tuple2<?, ?>) other;
      return areAlike(left._1(), right._1()) && areAlike(left._2(), right._2());
    }
    return one != null && other != null && one.getClass() == other.getClass();
  }

  private static boolean rises(Object[] bounds, Comparator<Object> order) {
    for (int i = 1; i < bounds.length; i++) {
      if (!areAlike(bounds[i], bounds[0]) || order.compare(bounds[i - 1], bounds[i]) >= 0) {
        return false;
      }
    }
    return true;
  }

  private static int compareUnsigned(byte[] left, byte[] right) {
    int common = Math.min(left.length, right.length);
    for (int i = 0; i < common; i++) {
      if (left[i] != right[i]) {
        return Integer.compare(left[i] & 0xFF, right[i] & 0xFF);
      }
    }
    return Integer.compare(left.length, right.length);
  }

  private static int compareSigned(byte[] left, byte[] right) {
    int common = Math.min(left.length, right.length);
    for (int i = 0; i < common; i++) {
      if (left[i] != right[i]) {
        return Byte.compare(left[i], right[i]);
      }
    }
    return Integer.compare(left.length, right.length);
  }

  /** The partition of {@code key}, {@link #REFUTED} or {@link #NO_GUESS}. */
  int partitionOf(Object key) {
    if (!areAlike(key, bounds[0])) {
      return NO_GUESS;
    }
    int low = 0;
    int high = bounds.length;
    while (low < high) {
      int middle = low + high >>> 1;
      if (guess.compare(key, bounds[middle]) > 0) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    boolean proven = (low == 0 || ordering.gt(key, bounds[low - 1]))
        && (low == bounds.length || !ordering.gt(key, bounds[low]));
    return !proven ? REFUTED : ascending ? low : bounds.length - low;
  }
}
