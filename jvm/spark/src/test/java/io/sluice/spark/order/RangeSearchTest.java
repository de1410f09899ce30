package io.sluice.spark.order;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.LocalSpark;
import io.sluice.spark.VariantsInAll;
import java.io.Serializable;
import java.math.BigDecimal;
import java.sql.Timestamp;
import java.time.LocalDate;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import org.apache.spark.HashPartitioner;
import org.apache.spark.Partitioner;
import org.apache.spark.RangePartitioner;
import org.apache.spark.api.java.JavaSparkContext;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import scala.Tuple2;
import scala.Tuple3;
import scala.math.Ordering;
import scala.reflect.ClassTag;

import scala.math.Ordering$;
import scala.reflect.ClassTag$;

/** A search by a guessed order finds the partition that Spark's range partitioner finds, or none. */
@Timeout(180)
class RangeSearchTest {
  private static final int KEYS = 20_000;
  private static final AtomicLong CALLS = new AtomicLong();
  private static LocalSpark spark;

  @BeforeAll
  static void start() {
    spark = LocalSpark.start(Map.of());
  }

  @AfterAll
  static void stop() {
    spark.close();
  }

  /** A comparator that tasks may carry, and that counts its calls. */
  private interface Order<K> extends Comparator<K>, Serializable {
    default Comparator<K> counted() {
      return (Comparator<K> & Serializable) (left, right) -> {
        CALLS.incrementAndGet();
        return compare(left, right);
      };
    }
  }

  @SuppressWarnings("unchecked") // An ordering of the keys.
  private static <K> RangePartitioner<K, Integer> partitioner(
      IntFunction<K> keys, Comparator<K> order, Class<?> type, int partitions, boolean ascending) {
    List<Tuple2<K, Integer>> sample = IntStream.range(0, 5_000).mapToObj(i -> new Tuple2<>(keys.apply(i), i)).toList();
    Ordering<K> ordering = order instanceof Ordering<?> ? (Ordering<K>) order
        : Ordering$.MODULE$.comparatorToOrdering(order);
    @SuppressWarnings("unchecked") ClassTag<K> tag = (ClassTag<K>) ClassTag$.MODULE$.apply(type);
    var records = JavaSparkContext.fromSparkContext(spark.session().sparkContext()).parallelizePairs(sample, 4).rdd();
    @SuppressWarnings({"unchecked", "rawtypes"}) RangePartitioner<K, Integer> made =
        new RangePartitioner(partitions, records, ascending, 20, ordering, tag);
    return made;
  }

  private static Optional<RangeSearch> search(Partitioner partitioner) {
    return RangeSearch.of(partitioner, true);
  }

  private static <K> void assertFinds(IntFunction<K> keys, Order<K> order, Class<?> type, int partitions) {
    for (boolean ascending : new boolean[] {true, false}) {
      Partitioner stock = partitioner(keys, order.counted(), type, partitions, ascending);
      RangeSearch search = search(stock).orElseThrow();
      CALLS.set(0);
      int[] found = IntStream.range(0, KEYS).map(i -> search.partitionOf(keys.apply(i))).toArray();
      assertTrue(CALLS.get() <= 2.1 * KEYS, CALLS.get() + " calls");
      for (int i = 0; i < KEYS; i++) {
        int key = i;
        assertEquals(stock.getPartition(keys.apply(i)), found[i], () -> "partition of " + keys.apply(key) + search);
      }
    }
  }

  private static byte[] bytes(int seed) {
    byte[] bytes = new byte[10];
    new Random(seed).nextBytes(bytes);
    return bytes;
  }

  private static int mixed(int n) {
    return new Random(n).nextInt();
  }

  @VariantsInAll(oneOf = 2)
  @ParameterizedTest
  @ValueSource(ints = {5, 100, 300})
  void placesAreThoseOfThePartitioner(int partitions) {
    assertFinds(RangeSearchTest::bytes, (left, right) -> Arrays.compareUnsigned(left, right), byte[].class, partitions);
    assertFinds(RangeSearchTest::bytes, (left, right) -> Arrays.compare(right, left), byte[].class, partitions);
    assertFinds(i -> "key " + mixed(i), (left, right) -> left.compareTo(right), String.class, partitions);
    assertFinds(RangeSearchTest::mixed, (left, right) -> right.compareTo(left), Object.class, partitions);
    assertFinds(i -> mixed(i) % 40, (left, right) -> left.compareTo(right), Object.class, partitions);
  }

  /**
   * Scala's orderings of fractions by IEEE call zeros of both signs equal by {@code gt}, and not by {@code compare},
   * which the partitioner's binary search calls.
   */
  private static final class Ieee implements Ordering<Double> {
    @Override
    public int compare(Double left, Double right) {
      return Double.compare(left, right);
    }

    @Override
    public boolean gt(Double left, Double right) {
      return left > right;
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {100, 150})
  void zerosAreWhereThePartitionerPutsThem(int partitions) {
    IntFunction<Double> keys = i -> i % 151 == 75 ? -0.0 : i % 151 - 75.0;
    Partitioner stock = partitioner(keys, new Ieee(), Object.class, partitions, true);
    RangeSearch search = search(stock).orElseThrow();
    for (double key : new double[] {-0.0, 0.0, 1, -1}) {
      assertEquals(stock.getPartition(key), search.partitionOf(key), () -> key + " in " + search);
    }
  }

  /** A pair of few first parts and a second part; specialized by Scala's compiler or not, which is another class. */
  private static Tuple2<Object, Object> pair(int i) {
    int few = mixed(i) % 5;
    int second = mixed(i + KEYS);
    return i % 2 == 0 ? new scala.Tuple2$mcII$sp(few, second) : new Tuple2<>(few, second);
  }

  @Test
  void pairsAreSearchedByTheirParts() {
    Order<Tuple2<Object, Object>> upDown = (left, right) -> {
      int first = Integer.compare((Integer) left._1(), (Integer) right._1());
      return first != 0 ? first : Integer.compare((Integer) right._2(), (Integer) left._2());
    };
    assertFinds(RangeSearchTest::pair, upDown, Object.class, 100);
    Order<Tuple2<String, Long>> natural = (left, right) -> {
      int first = left._1().compareTo(right._1());
      return first != 0 ? first : left._2().compareTo(right._2());
    };
    assertFinds(i -> new Tuple2<>("key " + mixed(i) % 4000, (long) i), natural, Object.class, 20);
  }

  /** Tuples of more parts, within each other, whose last parts alone decide. */
  @Test
  void nestedTuplesAreSearchedByAnyOfTheirParts() {
    IntFunction<Tuple2<Tuple2<Integer, String>, Tuple3<Long, BigDecimal, Integer>>> keys = i -> new Tuple2<>(
        new Tuple2<>(mixed(i) % 50, "key " + mixed(i + KEYS)),
        new Tuple3<>((long) i % 7, new BigDecimal(mixed(i) % 5000).movePointLeft(2), mixed(i)));
    Order<Tuple2<Tuple2<Integer, String>, Tuple3<Long, BigDecimal, Integer>>> natural = (left, right) -> {
      int first = left._1()._1().compareTo(right._1()._1());
      return first != 0 ? first : right._1()._2().compareTo(left._1()._2());
    };
    assertFinds(keys, natural, Object.class, 100);
    Order<Tuple2<Tuple2<Integer, String>, Tuple3<Long, BigDecimal, Integer>>> last = (left, right) -> {
      int number = right._2()._2().compareTo(left._2()._2());
      return number != 0 ? number : left._2()._3().compareTo(right._2()._3());
    };
    assertFinds(keys, last, Object.class, 100);
  }

  @Test
  void writablesAndDatesAreSearched() {
    assertFinds(i -> LocalDate.ofEpochDay(mixed(i) / 1000), (left, right) -> left.compareTo(right), Object.class, 50);
    assertFinds(i -> new Timestamp((long) mixed(i) * 1000 + i % 3), (left, right) -> right.compareTo(left),
        Object.class, 50);
  }

  /** Asks the ordering nothing. */
  @Test
  void rangesOfKnownOrdersNeedNoProof() {
    for (boolean ascending : new boolean[] {true, false}) {
      assertFindsWithoutAsking(i -> "key " + mixed(i), ascending, Ordering.String$.MODULE$);
      assertFindsWithoutAsking(i -> "key " + mixed(i), ascending, Ordering.String$.MODULE$.reverse());
      @SuppressWarnings({"unchecked", "rawtypes"}) // Scala's orderings of numbers are of their own boxed types.
      Ordering<Integer> ofInt = (Ordering) Ordering.Int$.MODULE$;
      assertFindsWithoutAsking(i -> mixed(i) % 4000, ascending, ofInt);
      assertFindsWithoutAsking(i -> new Tuple3<>(mixed(i) % 4, "key " + i % 9, mixed(i)), ascending,
          Ordering$.MODULE$.Tuple3(ofInt, Ordering.String$.MODULE$, ofInt));
    }
  }

  private static <K> void assertFindsWithoutAsking(IntFunction<K> keys, boolean ascending, Ordering<K> ordering) {
    Partitioner stock = partitioner(keys, ordering, Object.class, 60, ascending);
    RangeSearch search = RangeSearch.of(stock, false).orElseThrow();
    assertFalse(search.asksOrdering());
    for (int i = 0; i < KEYS; i++) {
      assertEquals(stock.getPartition(keys.apply(i)), search.partitionOf(keys.apply(i)));
    }
  }

  /** Scala's {@code gt} of fractions says of NaN what its {@code compare} does not. */
  @Test
  void fractionsAreProvenWhateverTheirOrdering() {
    Partitioner stock = partitioner(i -> (Object) (double) mixed(i), Ordering.DeprecatedDoubleOrdering$.MODULE$,
        Object.class, 60, true);
    RangeSearch search = search(stock).orElseThrow();
    assertTrue(search.asksOrdering());
    for (Object key : new Object[] {1.5, -0.0, 0.0, Double.NaN, Double.NEGATIVE_INFINITY}) {
      int found = search.partitionOf(key);
      assertTrue(found == RangeSearch.REFUTED || found == stock.getPartition(key));
    }
  }

  @Test
  void primitiveBoundsAreSearchedWhereThePartitionerComparesThem() {
    assertFinds(RangeSearchTest::mixed, (left, right) -> left.compareTo(right), int.class, 100);
    assertFalse(search(partitioner(RangeSearchTest::mixed, Comparator.<Integer>naturalOrder(), int.class, 300, true))
        .isPresent());
  }

  /** By their first byte only: keys that are equal to a bound, for the ordering, are above it for the guess. */
  @Test
  void keysThatACoarserOrderingCallsEqualToABoundAreFound() {
    Order<byte[]> first = (left, right) -> Integer.compare(left[0] & 0xFF, right[0] & 0xFF);
    Partitioner stock = partitioner(RangeSearchTest::bytes, first, byte[].class, 20, true);
    RangeSearch search = search(stock).orElseThrow();
    for (int i = 0; i < KEYS; i++) {
      assertEquals(stock.getPartition(bytes(i)), search.partitionOf(bytes(i)));
    }
  }

  /** Some keys are elsewhere than the bounds let expect. */
  @Test
  void keysThatTheOrderingPutsElsewhereAreRefuted() {
    Order<Integer> order = (left, right) -> {
      int last = Boolean.compare(left % 200 == 7, right % 200 == 7);
      return last != 0 ? last : Integer.compare(left, right);
    };
    IntFunction<Integer> keys = i -> i * 7919 % KEYS;
    Partitioner stock = partitioner(keys, order, Object.class, 9, true);
    RangeSearch search = search(stock).orElseThrow();
    int refuted = 0;
    for (int i = 0; i < KEYS; i++) {
      int found = search.partitionOf(keys.apply(i));
      refuted += found == RangeSearch.REFUTED ? 1 : 0;
      assertTrue(found == RangeSearch.REFUTED || found == stock.getPartition(keys.apply(i)));
    }
    assertTrue(refuted > 0 && refuted <= KEYS / 200, refuted + " refuted");
  }

  @Test
  void thereIsNothingToSearchElsewhere() {
    assertEquals(Optional.empty(), search(new HashPartitioner(10)));
    Order<Integer> byBits = (left, right) -> Integer.compareUnsigned(Integer.reverse(left), Integer.reverse(right));
    assertEquals(Optional.empty(),
        search(partitioner(RangeSearchTest::mixed, byBits, Object.class, 20, true)));
    assertEquals(Optional.empty(),
        search(partitioner(RangeSearchTest::mixed, Comparator.<Integer>naturalOrder(), Object.class, 3, true)));
  }

  @Test
  void forKeysOfAnotherClassNothingIsGuessed() {
    RangeSearch search =
        search(partitioner(RangeSearchTest::mixed, Comparator.<Integer>naturalOrder(), Object.class, 20, true))
            .orElseThrow();
    assertEquals(RangeSearch.NO_GUESS, search.partitionOf(null));
    assertEquals(RangeSearch.NO_GUESS, search.partitionOf("text"));
  }
}
