package io.sluice.spark.write;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.LocalSpark;
import java.io.Serializable;
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

  private static <K> RangePartitioner<K, Integer> partitioner(
      IntFunction<K> keys, Comparator<K> order, Class<?> type, int partitions, boolean ascending) {
    List<Tuple2<K, Integer>> sample = IntStream.range(0, 5_000).mapToObj(i -> new Tuple2<>(keys.apply(i), i)).toList();
    Ordering<K> ordering = Ordering$.MODULE$.comparatorToOrdering(order);
    @SuppressWarnings("unchecked") ClassTag<K> tag = (ClassTag<K>) ClassTag$.MODULE$.apply(type);
    var records = JavaSparkContext.fromSparkContext(spark.session().sparkContext()).parallelizePairs(sample, 4).rdd();
    @SuppressWarnings({"unchecked", "rawtypes"}) RangePartitioner<K, Integer> made =
        new RangePartitioner(partitions, records, ascending, 20, ordering, tag);
    return made;
  }

  private static <K> void assertFinds(IntFunction<K> keys, Order<K> order, Class<?> type, int partitions) {
    for (boolean ascending : new boolean[] {true, false}) {
      Partitioner stock = partitioner(keys, order.counted(), type, partitions, ascending);
      RangeSearch search = RangeSearch.of(stock).orElseThrow();
      CALLS.set(0);
      int[] found = IntStream.range(0, KEYS).map(i -> search.partitionOf(keys.apply(i))).toArray();
      assertTrue(CALLS.get() <= 2 * KEYS, CALLS.get() + " calls");
      assertEquals(IntStream.range(0, KEYS).map(i -> stock.getPartition(keys.apply(i))).boxed().toList(),
          Arrays.stream(found).boxed().toList());
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

  @ParameterizedTest
  @ValueSource(ints = {5, 100, 300})
  void placesAreThoseOfThePartitioner(int partitions) {
    assertFinds(RangeSearchTest::bytes, (left, right) -> Arrays.compareUnsigned(left, right), byte[].class, partitions);
    assertFinds(RangeSearchTest::bytes, (left, right) -> Arrays.compare(right, left), byte[].class, partitions);
    assertFinds(i -> "key " + mixed(i), (left, right) -> left.compareTo(right), String.class, partitions);
    assertFinds(RangeSearchTest::mixed, (left, right) -> right.compareTo(left), Object.class, partitions);
    assertFinds(i -> mixed(i) % 40, (left, right) -> left.compareTo(right), Object.class, partitions);
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

  /** Of whose parts there would be too many orders. */
  @Test
  void pairsOfPairsAreNotSearched() {
    IntFunction<Tuple2<Tuple2<Integer, Integer>, Integer>> keys = i -> new Tuple2<>(new Tuple2<>(mixed(i), i), i);
    Order<Tuple2<Tuple2<Integer, Integer>, Integer>> order =
        (left, right) -> Integer.compare(left._1()._1(), right._1()._1());
    assertEquals(Optional.empty(), RangeSearch.of(partitioner(keys, order, Object.class, 20, true)));
  }

  @Test
  void primitiveBoundsAreSearchedWhereThePartitionerComparesThem() {
    assertFinds(RangeSearchTest::mixed, (left, right) -> left.compareTo(right), int.class, 100);
    assertFalse(RangeSearch.of(
        partitioner(RangeSearchTest::mixed, Comparator.<Integer>naturalOrder(), int.class, 300, true)).isPresent());
  }

  /** By their first byte only: keys that are equal to a bound, for the ordering, are above it for the guess. */
  @Test
  void aCoarserOrderingIsFoundOrRefuted() {
    Order<byte[]> first = (left, right) -> Integer.compare(left[0] & 0xFF, right[0] & 0xFF);
    Partitioner stock = partitioner(RangeSearchTest::bytes, first, byte[].class, 20, true);
    RangeSearch search = RangeSearch.of(stock).orElseThrow();
    int refuted = 0;
    for (int i = 0; i < KEYS; i++) {
      int found = search.partitionOf(bytes(i));
      refuted += found == RangeSearch.REFUTED ? 1 : 0;
      assertTrue(found == RangeSearch.REFUTED || found == stock.getPartition(bytes(i)));
    }
    assertTrue(refuted > 0 && refuted < KEYS / 2, refuted + " refuted");
  }

  @Test
  void thereIsNothingToSearchElsewhere() {
    assertEquals(Optional.empty(), RangeSearch.of(new HashPartitioner(10)));
    Order<Integer> byBits = (left, right) -> Integer.compareUnsigned(Integer.reverse(left), Integer.reverse(right));
    assertEquals(Optional.empty(),
        RangeSearch.of(partitioner(RangeSearchTest::mixed, byBits, Object.class, 20, true)));
    assertEquals(Optional.empty(), RangeSearch.of(
        partitioner(RangeSearchTest::mixed, Comparator.<Integer>naturalOrder(), Object.class, 3, true)));
  }

  @Test
  void forKeysOfAnotherClassNothingIsGuessed() {
    RangeSearch search = RangeSearch.of(
        partitioner(RangeSearchTest::mixed, Comparator.<Integer>naturalOrder(), Object.class, 20, true)).orElseThrow();
    assertEquals(RangeSearch.NO_GUESS, search.partitionOf(null));
    assertEquals(RangeSearch.NO_GUESS, search.partitionOf("text"));
  }
}
