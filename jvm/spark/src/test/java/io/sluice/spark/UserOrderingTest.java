package io.sluice.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.UserSerializer.Point;
import io.sluice.spark.compat.SparkLine;
import io.sluice.spark.metrics.Counter;
import java.io.FileNotFoundException;
import java.io.InvalidObjectException;
import java.io.ObjectInputStream;
import java.io.Serializable;
import java.math.BigInteger;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import org.apache.spark.Aggregator;
import org.apache.spark.HashPartitioner;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.rdd.ShuffledRDD;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import scala.Function1;
import scala.Function2;
import scala.Option;
import scala.Tuple2;
import scala.math.Ordering;

import scala.math.Ordering$;

/** Orderings that users write: other than the natural one, of equal keys, of null, that throw, beside an aggregator. */
@Timeout(180)
class UserOrderingTest {
  private static RddOnBothEngines spark;

  /** Numbers in the order of their bits read from right to left. */
  private static class ByReversedBits implements Comparator<Integer>, Serializable {
    private static final long serialVersionUID = 1L;

    @Override
    public int compare(Integer left, Integer right) {
      return Integer.compareUnsigned(Integer.reverse(left), Integer.reverse(right));
    }
  }

  /** The same with a number for each key. */
  private static final class ByReversedBitsNormalized extends ByReversedBits implements NormalizedKeyOrdering<Integer> {
    private static final long serialVersionUID = 1L;

    @Override
    public long prefix(Integer key) {
      return Integer.toUnsignedLong(Integer.reverse(key)) << Integer.SIZE;
    }

    @Override
    public boolean canSortFullyWithPrefix() {
      return true;
    }
  }

  /** Thousands of numbers are equal to each other; downwards. */
  private static final class ByThousands implements Comparator<Integer>, NormalizedKeyOrdering<Integer>, Serializable {
    private static final long serialVersionUID = 1L;
    private final boolean canSortFullyWithPrefix;

    ByThousands(boolean canSortFullyWithPrefix) {
      this.canSortFullyWithPrefix = canSortFullyWithPrefix;
    }

    @Override
    public int compare(Integer left, Integer right) {
      return Integer.compare(right / 1000, left / 1000);
    }

    @Override
    public long prefix(Integer key) {
      return 1_000_000 - key / 1000;
    }

    @Override
    public boolean canSortFullyWithPrefix() {
      return canSortFullyWithPrefix;
    }
  }

  /** Takes null, which has no number. */
  private static final class NullsFirst implements Comparator<Integer>, NormalizedKeyOrdering<Integer>, Serializable {
    private static final long serialVersionUID = 1L;

    @Override
    public int compare(Integer left, Integer right) {
      return Comparator.nullsFirst(Comparator.<Integer>naturalOrder()).compare(left, right);
    }

    @Override
    public long prefix(Integer key) {
      return key.longValue() ^ Long.MIN_VALUE;
    }

    @Override
    public boolean canSortFullyWithPrefix() {
      return true;
    }
  }

  /** Says nothing by numbers, so that keys are compared as objects; throws at the number 777. */
  private static final class Throwing implements Comparator<Integer>, NormalizedKeyOrdering<Integer>, Serializable {
    private static final long serialVersionUID = 1L;
    private final boolean inPrefix;

    Throwing(boolean inPrefix) {
      this.inPrefix = inPrefix;
    }

    @Override
    public int compare(Integer left, Integer right) {
      check(left);
      return Integer.compare(left, right);
    }

    @Override
    public long prefix(Integer key) {
      if (inPrefix) {
        check(key);
      }
      return 0;
    }

    @Override
    public boolean canSortFullyWithPrefix() {
      return false;
    }

    private static void check(Integer key) {
      if (key == 777) {
        throw new IllegalStateException("777 has no place");
      }
    }
  }

  @BeforeAll
  static void start() {
    spark = RddOnBothEngines.start(Map.of());
  }

  @AfterAll
  static void stop() {
    spark.close();
  }

  private static int mixed(int n) {
    return n * 0x9E3779B1;
  }

  private static long sortedAsRows() {
    return spark.counter(Counter.READ_PARTITIONS_SORTED_AS_ROWS);
  }

  /** @param asRows whether Sluice must sort rows */
  private static void assertSame(boolean asRows, RddOnBothEngines.Job<List<String>> job) {
    long before = sortedAsRows();
    spark.assertSame(job);
    assertEquals(asRows, sortedAsRows() > before, "sorted as rows");
  }

  private static <K> Ordering<K> ordering(Comparator<K> comparator) {
    return Ordering$.MODULE$.comparatorToOrdering(comparator);
  }

  /** Sorts {@code records} within each of three partitions. */
  private static <K, V> RddOnBothEngines.Job<List<String>> within(Comparator<K> order, JavaPairRDD<K, V> records) {
    return context -> RddOnBothEngines.inOrder(
        RddOnBothEngines.shuffled(records, new HashPartitioner(3)).setKeyOrdering(ordering(order)));
  }

  private static JavaPairRDD<Integer, Integer> mixedNumbers() {
    return spark.numbers(20_000).mapToPair(n -> new Tuple2<>(mixed(n), n));
  }

  /** One map task, so that stock gives equal keys an order: the one in which they come. */
  private static JavaPairRDD<Integer, Integer> numbersOfOneTask() {
    return spark.numbers(20_000).coalesce(1).mapToPair(n -> new Tuple2<>((mixed(n) >>> 8) % 20_000, n));
  }

  /** Text of any object. */
  private static final class ByText implements Comparator<Object>, NormalizedKeyOrdering<Object>, Serializable {
    private static final long serialVersionUID = 1L;

    @Override
    public int compare(Object left, Object right) {
      return left.toString().compareTo(right.toString());
    }

    @Override
    public long prefix(Object key) {
      return key.toString().charAt(0);
    }

    @Override
    public boolean canSortFullyWithPrefix() {
      return false;
    }
  }

  /** The keys are written as nested parts; from some record on, the serializer writes whole records. */
  @Test
  void serializedRecordsAmongThoseWithNestedKeys() {
    JavaPairRDD<Object, Object> records = spark.numbers(4_000).coalesce(1).mapToPair(n -> new Tuple2<>(
        new Tuple2<>(n, BigInteger.valueOf(mixed(n))),
        n < 2_000 ? (Object) n : new Point(n, n)));
    assertSame(false, within(new ByText(), records));
  }

  @Test
  void orderByReversedBits() {
    assertSame(false,
        context -> mixedNumbers().sortByKey(new ByReversedBits(), true, 6).map(String::valueOf).collect());
    assertSame(false,
        context -> mixedNumbers().sortByKey(new ByReversedBits(), false, 6).map(String::valueOf).collect());
  }

  @Test
  void orderByReversedBitsWithAPrefix() {
    assertSame(true,
        context -> mixedNumbers().sortByKey(new ByReversedBitsNormalized(), true, 6).map(String::valueOf).collect());
    assertSame(true,
        context -> mixedNumbers().sortByKey(new ByReversedBitsNormalized(), false, 6).map(String::valueOf).collect());
  }

  @Test
  void stringsByLengthThenReversed() {
    Comparator<String> byLength =
        (Comparator<String> & Serializable) (left, right) -> Integer.compare(left.length(), right.length());
    Comparator<String> order = byLength.thenComparing(Comparator.reverseOrder());
    // In a partition whose keys all have the same length a guess is proven.
    assertSame(true, context -> spark.numbers(20_000).mapToPair(n -> new Tuple2<>(Integer.toString(mixed(n), 36), n))
        .sortByKey(order, true, 6).map(String::valueOf).collect());
  }

  @Test
  void equalKeysKeepTheirOrder() {
    Comparator<Integer> thousands =
        (Comparator<Integer> & Serializable) (left, right) -> Integer.compare(left / 1000, right / 1000);
    assertSame(true, within(thousands, numbersOfOneTask()));
    assertSame(true, within(Comparator.<Integer>naturalOrder(), numbersOfOneTask()));
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void keysWithEqualPrefixesKeepTheirOrder(boolean canSortFullyWithPrefix) {
    assertSame(true, within(new ByThousands(canSortFullyWithPrefix), numbersOfOneTask()));
  }

  @Test
  void nullKeysWithAnOrderingThatComparesThem() {
    Comparator<Integer> nullsLast = Comparator.nullsLast(Comparator.<Integer>naturalOrder());
    // In the partitions without the null a guess is proven.
    assertSame(true, within(nullsLast,
        spark.numbers(20_000).mapToPair(n -> new Tuple2<>(n == 9999 ? null : (Integer) mixed(n), n == 5 ? null : n))));
  }

  @Test
  void nullKeysWithoutAPrefix() {
    assertSame(true, within(new NullsFirst(),
        spark.numbers(20_000).mapToPair(n -> new Tuple2<>(n < 3 ? null : (Integer) mixed(n), 1))));
    assertSame(false, within(new NullsFirst(), spark.numbers(100).mapToPair(n -> new Tuple2<>((Integer) null, 1))));
  }

  @Test
  void aNullKeyWithAnOrderingThatFailsOnIt() {
    spark.assertFails("NullPointerException", within(Comparator.<Integer>naturalOrder(),
        spark.numbers(20_000).mapToPair(n -> new Tuple2<>(n == 9999 ? null : (Integer) mixed(n), n))));
  }

  @Test
  void nullKeysAndValuesAreGroupedAndCombined() {
    RddOnBothEngines.Job<JavaPairRDD<Integer, Integer>> some = context -> spark.numbers(20_000)
        .mapToPair(n -> new Tuple2<>(n % 3 == 0 ? null : (Integer) (n % 100), n % 7 == 0 ? null : n));
    spark.assertSame(
        context -> RddOnBothEngines.sorted(
            some.run(context).groupByKey(5).mapValues(RddOnBothEngines::sortedValues).collect()));
    spark.assertSame(context -> RddOnBothEngines.sorted(some.run(context)
        .reduceByKey((left, right) -> left == null || right == null ? null : (Integer) (left + right), 5).collect()));
  }

  @Test
  void anExceptionOfTheOrderingFailsAsOnStock() {
    Comparator<Integer> onlyComparing = (Comparator<Integer> & Serializable) new Throwing(false)::compare;
    for (Comparator<Integer> throwing : List.of(new Throwing(true), new Throwing(false), onlyComparing)) {
      spark.assertFails("777 has no place",
          within(throwing, spark.numbers(20_000).mapToPair(n -> new Tuple2<>(n, new byte[100]))));
    }
  }

  /** Throws an exception at the number 777 that it does not declare, as Scala code does. */
  private static class ThrowingUndeclared implements Comparator<Integer>, Serializable {
    private static final long serialVersionUID = 1L;

    @Override
    public int compare(Integer left, Integer right) {
      if (left == 777) {
        throw SparkLine.unchecked(new FileNotFoundException("777 has no place"));
      }
      return Integer.compare(left, right);
    }
  }

  /** The same with a number for each key. */
  private static final class ThrowingUndeclaredNormalized extends ThrowingUndeclared
      implements NormalizedKeyOrdering<Integer> {
    private static final long serialVersionUID = 1L;

    @Override
    public long prefix(Integer key) {
      return 0;
    }

    @Override
    public boolean canSortFullyWithPrefix() {
      return false;
    }
  }

  /** Cannot be read. */
  private static final class Unreadable implements Serializable {
    private static final long serialVersionUID = 1L;

    private void readObject(ObjectInputStream in) throws InvalidObjectException {
      throw new InvalidObjectException("it is not valid");
    }
  }

  @Test
  void anIoExceptionOfTheJobIsNotWrapped() {
    for (Comparator<Integer> throwing : List.of(new ThrowingUndeclared(), new ThrowingUndeclaredNormalized())) {
      spark.assertFails("executor driver): java.io.FileNotFoundException: 777 has no place",
          within(throwing, spark.numbers(20_000).mapToPair(n -> new Tuple2<>(n, n))));
    }
    spark.assertFails("executor driver): java.io.InvalidObjectException: it is not valid",
        within(new ByReversedBits(), spark.numbers(100).mapToPair(n -> new Tuple2<>(n, new Unreadable()))));
  }

  /** Throws in tasks, for the number 777. */
  private static final class ThrowingInTasks implements Comparator<Integer>, Serializable {
    private static final long serialVersionUID = 1L;

    @Override
    public int compare(Integer left, Integer right) {
      if (left == 777 && TaskContext.get() != null) {
        throw new IllegalStateException("777 has no range");
      }
      return Integer.compare(left, right);
    }
  }

  /** Map tasks ask the ordering about the bounds beside a key. */
  @Test
  void anExceptionOfTheOrderingInMapTasksFailsAsOnStock() {
    long proven = spark.counter(Counter.WRITE_RANGES_PROVEN);
    spark.assertFails("777 has no range", context -> spark.numbers(20_000).mapToPair(n -> new Tuple2<>(n, n))
        .sortByKey(new ThrowingInTasks(), true, 9).collect());
    assertTrue(spark.counter(Counter.WRITE_RANGES_PROVEN) > proven, "no range was searched");
  }

  @VariantsInAll
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void orderingWithAnAggregator(boolean mapSideCombine) {
    JavaPairRDD<Integer, Integer> numbers = spark.numbers(20_000).mapToPair(n -> new Tuple2<>(mixed(n) % 2000, n));
    assertSame(false, combined(mapSideCombine, new ByReversedBits(), numbers));
    assertSame(false, combined(mapSideCombine, new ByReversedBitsNormalized(), numbers));
    assertSame(false, combined(mapSideCombine, Comparator.<Integer>naturalOrder(), numbers));
    assertSame(false, combined(mapSideCombine, Comparator.<Point>reverseOrder(),
        numbers.mapToPair(record -> new Tuple2<>(new Point(record._1(), record._1() % 7), record._2()))));
  }

  /** Sums per key, sorted by key within partitions. */
  private static <K> RddOnBothEngines.Job<List<String>> combined(
      boolean mapSideCombine, Comparator<K> order, JavaPairRDD<K, Integer> records) {
    Aggregator<K, Integer, Long> sums = new Aggregator<>(
        (Function1<Integer, Long> & Serializable) Integer::longValue,
        (Function2<Long, Integer, Long> & Serializable) (sum, n) -> sum + n,
        (Function2<Long, Long, Long> & Serializable) Long::sum);
    return context -> {
      ShuffledRDD<K, Integer, Long> summed = RddOnBothEngines.shuffledTo(records, new HashPartitioner(3));
      return RddOnBothEngines.inOrder(
          summed.setAggregator(sums).setKeyOrdering(ordering(order)).setMapSideCombine(mapSideCombine));
    };
  }
}
