package io.sluice.spark.record;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Duration;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Date;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import org.apache.spark.util.collection.CompactBuffer;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.collection.immutable.Range;
import scala.collection.mutable.ListBuffer;
import scala.util.Left;
import scala.util.Right;

import scala.reflect.ClassTag$;

/** Random values of the classes that have a {@link NestedForm}. */
final class MoreNestedValues {
  private MoreNestedValues() {}

  static Object scalar(Random random) {
    return switch (random.nextInt(8)) {
      case 0 -> new scala.math.BigDecimal(new BigDecimal(new BigInteger(random.nextInt(100), random),
          random.nextInt(40)), java.math.MathContext.DECIMAL128);
      case 1 -> new UUID(random.nextLong(), random.nextLong());
      case 2 -> LocalDateTime.ofEpochSecond(random.nextInt(), random.nextInt(1_000_000_000),
          java.time.ZoneOffset.UTC);
      case 3 -> LocalTime.ofNanoOfDay((random.nextLong() >>> 1) % 86_400_000_000_000L);
      case 4 -> Duration.ofSeconds(random.nextLong() >> 3, random.nextInt(1_000_000_000));
      case 5 -> new Date(random.nextLong() >> 16);
      case 6 -> new Range.Inclusive(random.nextInt(100), random.nextInt(100), 1 + random.nextInt(5));
      default -> new Range.Exclusive(random.nextInt(100), random.nextInt(100), -1 - random.nextInt(5));
    };
  }

  static Object sequence(Random random, IntFunction<Object> value) {
    int count = random.nextInt(5);
    return switch (random.nextInt(9)) {
      case 0 -> scala.collection.immutable.ArraySeq$.MODULE$.unsafeWrapArray(array(random, count, value));
      case 1 -> scala.collection.mutable.ArraySeq$.MODULE$.make(array(random, count, value));
      case 2 -> filled(new ListBuffer<>(), count, value);
      case 3 -> compactBuffer(Object.class, count, value);
      case 4 -> random.nextBoolean() ? compactBuffer(String.class, count, i -> "text " + random.nextInt())
          : compactBuffer(int.class, count, i -> random.nextInt());
      case 5 -> random.nextBoolean() ? new Left<>(value.apply(0)) : new Right<>(value.apply(0));
      case 6, 7 -> new ArrayList<>(IntStream.range(0, count).mapToObj(value).toList());
      default -> tuples(count, value);
    };
  }

  private static Object array(Random random, int count, IntFunction<Object> value) {
    return switch (random.nextInt(5)) {
      case 0 -> random.ints(count).toArray();
      case 1 -> random.doubles(count).toArray();
      case 2 -> IntStream.range(0, count).mapToObj(i -> "text " + i).toArray(String[]::new);
      case 3 -> tuples(count, value);
      default -> IntStream.range(0, count).mapToObj(value).toArray();
    };
  }

  private static Object tuples(int count, IntFunction<Object> value) {
    Tuple2<?, ?>[] tuples = new Tuple2<?, ?>[count];
    java.util.Arrays.setAll(tuples, i -> new Tuple2<>(i, value.apply(i)));
    return tuples;
  }

  private static ListBuffer<Object> filled(ListBuffer<Object> buffer, int count, IntFunction<Object> value) {
    IntStream.range(0, count).forEach(i -> buffer.addOne(value.apply(i)));
    return buffer;
  }

  private static CompactBuffer<Object> compactBuffer(Class<?> type, int count, IntFunction<Object> value) {
    CompactBuffer<Object> buffer = new CompactBuffer<>(ClassTag$.MODULE$.apply(type));
    IntStream.range(0, count).forEach(i -> buffer.$plus$eq(value.apply(i)));
    return buffer;
  }

  /** Some of whose elements were removed, so that tables are longer than needed. */
  static Object setOrMap(Random random, IntFunction<Object> key, IntFunction<Object> value) {
    int count = random.nextInt(8) == 0 ? random.nextInt(100) : random.nextInt(7);
    int removed = random.nextInt(3) == 0 ? random.nextInt(40) : 0;
    List<Object> keys = IntStream.range(0, count + removed).mapToObj(key).distinct().toList();
    List<Object> gone = keys.subList(Math.min(count, keys.size()), keys.size());
    boolean set = random.nextBoolean();
    return switch (random.nextInt(3)) {
      case 0 -> set ? javaSet(keys, gone) : javaMap(keys, gone, value);
      case 1 -> set ? mutableSet(keys, gone) : mutableMap(keys, gone, value);
      default -> set ? immutableSet(keys, gone) : immutableMap(keys, gone, value);
    };
  }

  private static Object javaSet(List<Object> keys, List<Object> gone) {
    HashSet<Object> set = new HashSet<>(keys);
    set.removeAll(new HashSet<>(gone));
    return set;
  }

  private static Object javaMap(List<Object> keys, List<Object> gone, IntFunction<Object> value) {
    HashMap<Object, Object> map = new HashMap<>();
    keys.forEach(key -> map.put(key, value.apply(0)));
    map.keySet().removeAll(new HashSet<>(gone));
    return map;
  }

  private static Object mutableSet(List<Object> keys, List<Object> gone) {
    scala.collection.mutable.HashSet<Object> set = new scala.collection.mutable.HashSet<>();
    keys.forEach(set::addOne);
    gone.forEach(set::subtractOne);
    return set;
  }

  private static Object mutableMap(List<Object> keys, List<Object> gone, IntFunction<Object> value) {
    scala.collection.mutable.HashMap<Object, Object> map = new scala.collection.mutable.HashMap<>();
    keys.forEach(key -> map.addOne(new Tuple2<>(key, value.apply(0))));
    gone.forEach(map::subtractOne);
    return map;
  }

  @SuppressWarnings("unchecked") // The set is of objects.
  private static Object immutableSet(List<Object> keys, List<Object> gone) {
    scala.collection.immutable.Set<Object> set =
        (scala.collection.immutable.Set<Object>) scala.collection.immutable.Set$.MODULE$.empty();
    for (Object key : keys) {
      set = (scala.collection.immutable.Set<Object>) set.$plus(key);
    }
    for (Object key : gone) {
      set = (scala.collection.immutable.Set<Object>) set.$minus(key);
    }
    return set;
  }

  @SuppressWarnings("unchecked") // The map is of objects.
  private static Object immutableMap(List<Object> keys, List<Object> gone, IntFunction<Object> value) {
    scala.collection.immutable.Map<Object, Object> map =
        (scala.collection.immutable.Map<Object, Object>) scala.collection.immutable.Map$.MODULE$.empty();
    for (Object key : keys) {
      map = map.updated(key, value.apply(0));
    }
    for (Object key : gone) {
      map = (scala.collection.immutable.Map<Object, Object>) map.$minus(key);
    }
    return map;
  }

  /** Whether {@code value} is a collection whose elements {@link #inOrder} gives. */
  static boolean isCollection(Object value) {
    return value instanceof Collection || value instanceof Map || value instanceof scala.collection.Set
        || value instanceof scala.collection.Map;
  }

  /** The elements in the order in which the collection gives them; a map's pairs as tuples. */
  static Object[] inOrder(Object collection) {
    List<Object> elements = new ArrayList<>();
    if (collection instanceof Collection<?> some) {
      elements.addAll(some);
    } else if (collection instanceof Map<?, ?> map) {
      map.forEach((key, value) -> elements.add(new Tuple2<>(key, value)));
    } else {
      Iterator<?> some = ((scala.collection.Iterable<?>) collection).iterator();
      while (some.hasNext()) {
        elements.add(some.next());
      }
    }
    return elements.toArray();
  }
}
