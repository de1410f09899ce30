package io.sluice.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.metrics.Counter;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.IntStream;
import org.apache.hadoop.io.Text;
import org.apache.spark.HashPartitioner;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.function.Function;
import org.apache.spark.serializer.KryoSerializer;
import org.apache.spark.serializer.Serializer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import scala.Tuple2;
import scala.Tuple3;

/** Jobs that group and combine records give on Sluice what they give on Spark's own shuffle. */
@Timeout(180)
class CombiningAgainstStockTest {
  private static final int COUNT = 10_000;
  private RddOnBothEngines spark;

  @AfterEach
  void stop() {
    spark.close();
  }

  private void start(Map<String, String> settings) {
    spark = RddOnBothEngines.start(settings);
  }

  private <K> JavaPairRDD<K, Integer> records(Function<Integer, K> key) {
    return spark.numbers(COUNT).mapToPair(n -> new Tuple2<>(key.call(n * 0x9E3779B1 >>> 8), n));
  }

  /** Every way to combine, where each result has one form whatever the order of map outputs. */
  private <K> void assertCombinedLikeStock(Function<Integer, K> key) {
    spark.assertSame(context -> RddOnBothEngines.sorted(records(key).reduceByKey(Integer::sum, 3).collect()));
    spark.assertSame(context -> RddOnBothEngines.sorted(
        records(key).groupByKey(3).mapValues(RddOnBothEngines::sortedValues).collect()));
    spark.assertSame(context -> RddOnBothEngines.sorted(records(key)
        .aggregateByKey(new HashSet<Integer>(), 3, (set, n) -> {
          set.add(n % 7);
          return set;
        }, (left, right) -> {
          left.addAll(right);
          return left;
        }).mapValues(set -> new ArrayList<>(new java.util.TreeSet<>(set))).collect()));
    spark.assertSame(context -> RddOnBothEngines.sorted(records(key).keys().distinct(3).collect()));
    spark.assertSame(context -> RddOnBothEngines.sorted(
        records(key).mapValues(n -> "v" + n).foldByKey("", 3, (left, right) -> left.compareTo(right) > 0 ? left : right)
            .collect()));
  }

  @Test
  void numbersAndText() {
    start(Map.of());
    assertCombinedLikeStock(n -> n % 1000);
    assertCombinedLikeStock(n -> (long) (n % 1000) << 40);
    assertCombinedLikeStock(n -> "word " + n % 1000);
    assertCombinedLikeStock(n -> (n % 4 == 0 ? "\u4E16" : "\u00e9") + n % 1000);
    assertCombinedLikeStock(n -> n % 1000 * 0.5);
    assertTrue(spark.counter(Counter.READ_PARTITIONS_COMBINED_AS_ROWS) > 0);
    assertEquals(0, spark.counter(Counter.COMBINED_BY_SPARK));
  }

  @InAll
  @Test
  void pairsAndNulls() {
    start(Map.of());
    assertCombinedLikeStock(n -> new Tuple2<>(n % 30, n % 20));
    assertCombinedLikeStock(n -> new Tuple2<>("k" + n % 30, (long) n % 20));
    assertCombinedLikeStock(n -> n % 10 == 0 ? null : "k" + n % 100);
    assertCombinedLikeStock(n -> n % 2 == 0 ? "k" + n % 100 : (Object) (n % 100));
    assertEquals(0, spark.counter(Counter.COMBINED_BY_SPARK));
  }

  @InAll
  @ParameterizedTest
  @ValueSource(strings = {"JavaSerializer", "KryoSerializer"})
  void keysOfSeveralParts(String serializer) {
    start(Map.of("spark.serializer", "org.apache.spark.serializer." + serializer));
    assertCombinedLikeStock(n -> new Tuple3<>(n % 30, "k" + n % 20, (long) n % 3));
    assertCombinedLikeStock(n -> new Tuple2<>(n % 7, new Tuple2<>(n % 5 == 0 ? null : "k" + n % 10, n % 20)));
    assertCombinedLikeStock(n -> LocalDate.ofEpochDay(n % 1000));
    assertCombinedLikeStock(n -> new Tuple2<>(new UUID(n % 10, n % 7), n % 2 == 0));
    assertTrue(spark.counter(Counter.READ_PARTITIONS_COMBINED_AS_ROWS) >= 4 * 3);
    assertEquals(0, spark.counter(Counter.COMBINED_BY_SPARK));
    // Some of whose pairs are of one of Scala's classes for numbers, and equal others.
    spark.assertSame(context -> RddOnBothEngines.sorted(records(n -> new Tuple2<>("k" + n % 5,
        n % 2 == 0 ? new Tuple2<>(n % 10, 1) : new scala.Tuple2$mcII$sp(n % 10, 1))).reduceByKey(Integer::sum, 3)
        .collect()));
  }

  @InAll
  @Test
  void textWithKryo() {
    start(Map.of("spark.serializer", "org.apache.spark.serializer.KryoSerializer"));
    assertCombinedLikeStock(n -> new Text("word " + n % 1000));
    assertCombinedLikeStock(n -> new Tuple2<>(new Text("word " + n % 50), n % 20));
    assertTrue(spark.counter(Counter.READ_PARTITIONS_COMBINED_AS_ROWS) >= 2 * 3);
    assertEquals(0, spark.counter(Counter.COMBINED_BY_SPARK));
  }

  /** Scala's pairs of an int and of a long may be equal; which of them a key is, the order of map outputs decides. */
  @Test
  void pairsOfMixedTypes() {
    start(Map.of());
    spark.assertSame(context -> RddOnBothEngines.sorted(records(n -> n % 2 == 0
        ? new Tuple2<Object, Object>(n % 10, "k") : new Tuple2<Object, Object>(n % 10L, "k")).groupByKey(3)
        .mapToPair(group -> new Tuple2<>(group._1().toString(), RddOnBothEngines.sortedValues(group._2()))).collect()));
    assertTrue(spark.counter(Counter.COMBINED_BY_SPARK) > 0);
  }

  /** Scala's numbers are equal whatever their class, and so are zeros; Java's objects are not. */
  private static Object number(int n) {
    int number = n / 8 % 5;
    return switch (n % 8) {
      case 0 -> number;
      case 1 -> (long) number;
      case 2 -> (double) number;
      case 3 -> -(double) number;
      case 4 -> (float) -number;
      case 5 -> (short) number;
      case 6 -> (char) number;
      default -> Double.NaN;
    };
  }

  /** Stock compares keys as Scala does in map tasks, and as Java does in reduce tasks. */
  @Test
  void numbersOfSeveralClasses() {
    start(Map.of());
    for (int partitions : new int[] {1, 3, 7}) {
      spark.assertSame(context -> RddOnBothEngines.sorted(spark.numbers(COUNT).coalesce(1)
          .mapToPair(n -> new Tuple2<>(number(n), 1)).reduceByKey(Integer::sum, partitions)
          .map(sum -> sum._1().getClass().getSimpleName() + " " + sum).collect()));
      spark.assertSame(context -> RddOnBothEngines.sorted(spark.numbers(COUNT).coalesce(1)
          .mapToPair(n -> new Tuple2<>(number(n), n)).groupByKey(partitions)
          .map(group -> group._1().getClass().getSimpleName() + " " + group._1() + " "
              + RddOnBothEngines.sortedValues(group._2()))
          .collect()));
    }
    assertEquals(0, spark.counter(Counter.COMBINED_BY_SPARK));
  }

  /** Users' own functions and serializers, combined in map tasks or in reduce tasks only. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void combineByKey(boolean mapSideCombine) {
    start(Map.of());
    for (Serializer serializer : new Serializer[] {null, new KryoSerializer(SparkEnv.get().conf())}) {
      spark.assertSame(context -> RddOnBothEngines.sorted(records(n -> "word " + n % 1000)
          .combineByKey(n -> new long[] {1, n}, (sum, n) -> new long[] {sum[0] + 1, sum[1] + n},
              (left, right) -> new long[] {left[0] + right[0], left[1] + right[1]},
              new HashPartitioner(3), mapSideCombine, serializer)
          .mapValues(Arrays::toString).collect()));
    }
    assertEquals(2 * 3, spark.counter(Counter.READ_PARTITIONS_COMBINED_AS_ROWS));
    assertEquals(0, spark.counter(Counter.COMBINED_BY_SPARK));
  }

  @Test
  void joinsAndSorts() {
    start(Map.of());
    spark.assertSame(context -> RddOnBothEngines.sorted(records(n -> n % 900).reduceByKey(Integer::sum, 3)
        .join(records(n -> n % 700).groupByKey(3).mapValues(RddOnBothEngines::sortedValues)).collect()));
    spark.assertSame(context -> records(n -> "k" + n % 900).reduceByKey(Integer::sum, 3).sortByKey(true, 3).collect()
        .stream().map(String::valueOf).toList());
  }

  /** Spark's map then spills with each hundred records, as on stock. */
  @InAll
  @Test
  void settingsThatForceSpillsAreHeeded() {
    start(Map.of("spark.shuffle.spill.numElementsForceSpillThreshold", "100"));
    assertCombinedLikeStock(n -> n % 1000);
    assertEquals(0, spark.counter(Counter.READ_PARTITIONS_COMBINED_AS_ROWS));
  }

  /** Spark's map gives keys twice when it merges spills of which one has null: reduce tasks of stock do. */
  @Test
  void nullAmongKeysThatSpill() {
    start(Map.of("spark.shuffle.spill.numElementsForceSpillThreshold", "50"));
    List<Integer> numbers = IntStream.range(0, 4_000).boxed().toList();
    Map<String, Integer> sums = new HashMap<>();
    numbers.forEach(n -> sums.merge(String.valueOf(wordOrNull(n)), n, Integer::sum));
    for (boolean inMaps : new boolean[] {true, false}) {
      List<Tuple2<String, Integer>> combined = spark.onSluice(context -> context.parallelize(numbers, 3)
          .mapToPair(n -> new Tuple2<>(wordOrNull(n), n)).combineByKey(n -> n, Integer::sum, Integer::sum,
              new HashPartitioner(2), inMaps, null)
          .collect());
      assertEquals(sums.size(), combined.size());
      combined.forEach(sum -> assertEquals(sums.get(String.valueOf(sum._1())), sum._2()));
    }
  }

  private static String wordOrNull(int n) {
    return n % 17 == 3 ? null : "word " + n % 200;
  }

  /** Lists take many times the memory that there is for them. */
  @InAll
  @Test
  void littleMemory() {
    start(Map.of("spark.testing.memory", Long.toString(64 << 20), "spark.testing.reservedMemory", "0",
        "spark.memory.fraction", "0.1", "spark.shuffle.spill.initialMemoryThreshold", "64k"));
    assertCombinedLikeStock(n -> "word " + n % 9000);
    spark.assertSame(context -> RddOnBothEngines.sorted(spark.numbers(300_000)
        .mapToPair(n -> new Tuple2<>("word " + n % 50_000, "some value " + n)).groupByKey(2)
        .mapValues(values -> {
          List<String> all = new ArrayList<>();
          values.forEach(all::add);
          Collections.sort(all);
          return all.toString();
        }).collect()));
    assertTrue(spark.counter(Counter.COMBINED_BY_SPARK) > 0);
  }

  @Test
  void functionsThatThrow() {
    start(Map.of());
    spark.assertFails("not this one", context -> records(n -> n % 1000).reduceByKey((left, right) -> {
      throw new IllegalStateException("not this one");
    }, 3).count());
    spark.assertFails("nor that", context -> records(n -> n % 1000).partitionBy(new HashPartitioner(5))
        .combineByKey(n -> n, (left, n) -> {
          if (n > COUNT / 2) {
            throw new IllegalArgumentException("nor that");
          }
          return n;
        }, (left, right) -> left, new HashPartitioner(3), false, null).count());
  }
}
