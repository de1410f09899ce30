package io.sluice.spark;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.sluice.spark.metrics.Counter;
import java.io.Serializable;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.sql.Timestamp;
import java.time.Instant;
import java.time.LocalDate;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;
import org.apache.hadoop.io.BinaryComparable;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.spark.HashPartitioner;
import org.apache.spark.api.java.JavaPairRDD;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import scala.Option;
import scala.Tuple2;
import scala.Tuple3;
import scala.math.BigInt;
import scala.math.Ordering;

import scala.math.Ordering$;

/** Keys of several parts, and of classes that numbers or bytes stand for: sorted as rows, in stock's order. */
@Timeout(180)
class TupleOrderingTest {
  private static final String JAVA = "org.apache.spark.serializer.JavaSerializer";
  private static final String KRYO = "org.apache.spark.serializer.KryoSerializer";
  private static final int ROWS = 3_000;
  private static final int PARTITIONS = 7;

  private RddOnBothEngines spark;

  @AfterEach
  void stop() {
    spark.close();
  }

  /** A comparator of which Sluice knows nothing. */
  private interface Unknown<K> extends Comparator<K>, Serializable {}

  private static int mixed(int n) {
    return n * 0x9E3779B1 >>> 4;
  }

  private static String name(int n) {
    return (n % 5 == 0 ? "\u0416 " : "name ") + n % 40;
  }

  private static Tuple3<Integer, String, Long> triple(int n) {
    return new Tuple3<>(mixed(n) % 9, name(mixed(n + 1)), (long) mixed(n + 2));
  }

  private static Tuple2<String, Tuple2<Integer, Double>> secondary(int n) {
    return new Tuple2<>(name(mixed(n)), new Tuple2<>(mixed(n + 1) % 5, mixed(n + 2) / 3.0));
  }

  /** One map task, so that stock gives equal keys an order: the one in which they come. */
  private <K> JavaPairRDD<K, Integer> records(Records<K> keys) {
    return spark.numbers(ROWS).coalesce(1).mapToPair(keys::record);
  }

  private interface Records<K> extends IntFunction<K>, Serializable {
    default Tuple2<K, Integer> record(int n) {
      return new Tuple2<>(apply(n), n);
    }
  }

  /** Sorts within partitions, and over all of them. */
  private <K> void assertSorted(Comparator<K> order, Records<K> keys) {
    Ordering<K> ordering = order instanceof Ordering<?> ? (Ordering<K>) order
        : Ordering$.MODULE$.comparatorToOrdering(order);
    long before = spark.counter(Counter.READ_PARTITIONS_SORTED_AS_ROWS);
    spark.assertSame(context -> RddOnBothEngines.inOrder(
        RddOnBothEngines.shuffled(records(keys), new HashPartitioner(PARTITIONS)).setKeyOrdering(ordering)));
    spark.assertSame(context -> records(keys).sortByKey(ordering, true, PARTITIONS).map(String::valueOf).collect());
    spark.assertSame(context -> records(keys).sortByKey(ordering, false, PARTITIONS).map(String::valueOf).collect());
    assertEquals(3 * PARTITIONS, spark.counter(Counter.READ_PARTITIONS_SORTED_AS_ROWS) - before);
  }

  private List<Long> proofs() {
    return List.of(spark.counter(Counter.READ_RUNS_PROVEN), spark.counter(Counter.WRITE_RANGES_PROVEN));
  }

  private <K> void assertKnown(Comparator<K> order, Records<K> keys) {
    List<Long> before = proofs();
    assertSorted(order, keys);
    assertEquals(before, proofs(), "an order that is known needs no proof");
  }

  private <K> void assertProven(Unknown<K> order, Records<K> keys) {
    List<Long> before = proofs();
    assertSorted(order, keys);
    assertEquals(List.of(3L * PARTITIONS, 2L * ROWS),
        List.of(proofs().get(0) - before.get(0), proofs().get(1) - before.get(1)));
  }

  @SuppressWarnings({"unchecked", "rawtypes"}) // Scala's orderings of numbers are of their own boxed types.
  private static <K> Ordering<K> scalas(Ordering<?> ordering) {
    return (Ordering) ordering;
  }

  @VariantsInAll
  @ParameterizedTest
  @ValueSource(strings = {JAVA, KRYO})
  void tuplesInScalasOrder(String serializer) {
    spark = RddOnBothEngines.start(Map.of("spark.serializer", serializer));
    Ordering<Integer> ofInt = scalas(Ordering.Int$.MODULE$);
    Ordering<Long> ofLong = scalas(Ordering.Long$.MODULE$);
    Ordering<Double> ofDouble = scalas(Ordering.DeprecatedDoubleOrdering$.MODULE$);
    assertKnown(Ordering$.MODULE$.Tuple3(ofInt, Ordering.String$.MODULE$, ofLong), TupleOrderingTest::triple);
    assertKnown(Ordering$.MODULE$.Tuple3(ofInt.reverse(), Ordering.String$.MODULE$, ofLong.reverse()).reverse(),
        TupleOrderingTest::triple);
    List<Long> before = proofs();
    assertSorted(Ordering$.MODULE$.Tuple2(Ordering.String$.MODULE$, Ordering$.MODULE$.Tuple2(ofInt, ofDouble)),
        TupleOrderingTest::secondary);
    assertEquals(before.get(0), proofs().get(0));
  }

  @VariantsInAll
  @ParameterizedTest
  @ValueSource(strings = {JAVA, KRYO})
  void tuplesInOrdersOfTheUsersOwn(String serializer) {
    spark = RddOnBothEngines.start(Map.of("spark.serializer", serializer));
    assertProven((left, right) -> {
      int order = right._1().compareTo(left._1());
      order = order != 0 ? order : left._2().compareTo(right._2());
      return order != 0 ? order : right._3().compareTo(left._3());
    }, TupleOrderingTest::triple);
    // By the last part alone, then by the second: as a job sorts by what it has counted.
    assertProven((left, right) -> {
      int order = Long.compare(right._3() % 100, left._3() % 100);
      return order != 0 ? order : left._2().compareTo(right._2());
    }, n -> new Tuple3<>(n, name(mixed(n + 1)), (long) mixed(n + 2) % 100));
    assertProven((left, right) -> {
      int order = left._1().compareTo(right._1());
      return order != 0 ? order : Double.compare(right._2()._2(), left._2()._2());
    }, TupleOrderingTest::secondary);
  }

  @InAll
  @Test
  void decimalsDatesAndTimesInTheirNaturalOrder() {
    spark = RddOnBothEngines.start(Map.of());
    assertKnown(Comparator.<BigDecimal>naturalOrder(), n -> BigDecimal.valueOf(mixed(n) % 4000 - 2000, n % 4));
    assertKnown(scalas(Ordering.BigInt$.MODULE$),
        n -> new BigInt(BigInteger.valueOf(mixed(n) % 4000 - 2000).pow(1 + n % 9)));
    assertKnown(Comparator.<LocalDate>naturalOrder(), n -> LocalDate.ofEpochDay(mixed(n) % 4000 - 2000));
    assertKnown(Comparator.<Instant>naturalOrder(), n -> Instant.ofEpochSecond(mixed(n) % 40, mixed(n + 1) % 1000));
    assertKnown(Comparator.<java.util.Date>naturalOrder(), n -> new Timestamp(mixed(n)));
    assertProven((left, right) -> right.compareTo(left),
        n -> BigDecimal.valueOf(mixed(n) % 4000 - 2000, 2 - n % 4));
  }

  @InAll
  @Test
  void writablesInTheirNaturalOrder() {
    spark = RddOnBothEngines.start(Map.of("spark.serializer", KRYO));
    assertKnown(Comparator.<BinaryComparable>naturalOrder(), n -> new Text(name(mixed(n))));
    assertKnown(Comparator.<BinaryComparable>reverseOrder(), n -> new BytesWritable(name(mixed(n)).getBytes(UTF_8)));
    assertKnown(Comparator.<IntWritable>naturalOrder(), n -> new IntWritable(mixed(n) % 4000));
    assertKnown(Comparator.<LongWritable>naturalOrder(), n -> new LongWritable(mixed(n)));
    assertProven((left, right) -> right.toString().compareTo(left.toString()), n -> new Text(name(mixed(n)) + n));
  }

  /** From the first key with a null part or of another structure on, a partition is sorted as objects. */
  @Test
  void keysThatAreNotLikeTheFirst() {
    spark = RddOnBothEngines.start(Map.of());
    Unknown<Tuple3<Integer, String, Long>> nullsLast = (left, right) -> {
      int order = left._1().compareTo(right._1());
      return order != 0 ? order
          : Comparator.nullsLast(Comparator.<String>naturalOrder()).compare(left._2(), right._2());
    };
    Records<Tuple3<Integer, String, Long>> withNulls =
        n -> new Tuple3<>(mixed(n) % 9, n > 3000 && n % 7 == 0 ? null : name(n), 1L);
    spark.assertSame(context -> RddOnBothEngines.inOrder(RddOnBothEngines
        .shuffled(records(withNulls), new HashPartitioner(2))
        .setKeyOrdering(Ordering$.MODULE$.comparatorToOrdering(nullsLast))));
    Unknown<Object> byText = (left, right) -> left.toString().compareTo(right.toString());
    Records<Object> several = n -> n < 3000 ? new Tuple2<>(name(n), n) : new Tuple3<>(name(n), n, Option.empty());
    spark.assertSame(context -> RddOnBothEngines.inOrder(RddOnBothEngines
        .shuffled(records(several), new HashPartitioner(2))
        .setKeyOrdering(Ordering$.MODULE$.comparatorToOrdering(byText))));
    spark.assertSame(context -> records(several).sortByKey(byText, true, PARTITIONS).map(String::valueOf).collect());
  }

  @Test
  void anExceptionOfTheComparatorFailsAsOnStock() {
    spark = RddOnBothEngines.start(Map.of());
    Unknown<Tuple3<Integer, String, Long>> throwing = (left, right) -> {
      if (left._3() % 1000 == 77) {
        throw new IllegalStateException("77 has no place");
      }
      return left._3().compareTo(right._3());
    };
    spark.assertFails("77 has no place", context -> RddOnBothEngines.inOrder(RddOnBothEngines
        .shuffled(records(n -> new Tuple3<>(n % 3, name(n), (long) n)), new HashPartitioner(2))
        .setKeyOrdering(Ordering$.MODULE$.comparatorToOrdering(throwing))));
  }
}
