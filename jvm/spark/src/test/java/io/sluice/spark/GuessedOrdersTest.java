package io.sluice.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.metrics.Counter;
import java.io.Serializable;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import org.apache.spark.HashPartitioner;
import org.apache.spark.Partitioner;
import org.apache.spark.RangePartitioner;
import org.apache.spark.api.java.JavaPairRDD;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import scala.Tuple2;
import scala.math.Ordering;

import scala.math.Ordering$;
import scala.reflect.ClassTag$;

/** How often orders are guessed and refuted, in map tasks and reduce tasks. Results are always stock's. */
@Timeout(180)
class GuessedOrdersTest {
  private static final int COUNT = 20_000;
  private static final int MAP_TASKS = 4;
  /** A map task, or all reduce tasks of a shuffle in an executor, guess no more after so many wrong guesses. */
  private static final int MOST_REFUTED = 3;
  private static final int PARTITIONS = 9;

  /** A comparator of which Sluice knows nothing. */
  private interface Unknown extends Comparator<Integer>, Serializable {}

  /** Numbers in their order, but for some. */
  private static final Unknown LAST = (left, right) -> {
    int last = Boolean.compare(left % 200 == 7, right % 200 == 7);
    return last != 0 ? last : Integer.compare(left, right);
  };

  private RddOnBothEngines spark;

  @AfterEach
  void stop() {
    spark.close();
  }

  private JavaPairRDD<Integer, Integer> mixedNumbers() {
    return spark.numbers(COUNT).mapToPair(n -> new Tuple2<>(n * 0x9E3779B1 >>> 8, n));
  }

  /** Range-partitioned and sorted. */
  private RddOnBothEngines.Job<List<String>> ranges(Unknown order, JavaPairRDD<Integer, Integer> records) {
    return context -> records.sortByKey(order, true, PARTITIONS).map(String::valueOf).collect();
  }

  /** Sorted within partitions. */
  private RddOnBothEngines.Job<List<String>> within(Unknown order) {
    HashPartitioner partitioner = new HashPartitioner(PARTITIONS);
    return context -> RddOnBothEngines.inOrder(RddOnBothEngines.shuffled(mixedNumbers(), partitioner)
        .setKeyOrdering(Ordering$.MODULE$.comparatorToOrdering(order)));
  }

  private void assertCounts(long rangesProven, long rangesRefuted, long runsProven, long runsRefuted) {
    assertEquals(List.of(rangesProven, rangesRefuted, runsProven, runsRefuted),
        List.of(spark.counter(Counter.WRITE_RANGES_PROVEN), spark.counter(Counter.WRITE_RANGES_REFUTED),
            spark.counter(Counter.READ_RUNS_PROVEN), spark.counter(Counter.READ_RUNS_REFUTED)));
  }

  @Test
  void aRightGuessIsProvenForEveryRecordAndPartition() {
    spark = RddOnBothEngines.start(Map.of());
    spark.assertSame(ranges((left, right) -> Integer.compare(right, left), mixedNumbers()));
    assertCounts(COUNT, 0, PARTITIONS, 0);
    spark.assertSame(within((left, right) -> Integer.compare(right, left)));
    assertCounts(COUNT, 0, 2 * PARTITIONS, 0);
  }

  @Test
  void nothingIsGuessedWhereTheSettingForbidsIt() {
    spark = RddOnBothEngines.start(Map.of("spark.sluice.records.guessOrder", "false"));
    spark.assertSame(ranges((left, right) -> Integer.compare(right, left), mixedNumbers()));
    spark.assertSame(within((left, right) -> Integer.compare(left, right)));
    assertCounts(0, 0, 0, 0);
    assertEquals(2 * PARTITIONS, spark.counter(Counter.READ_PARTITIONS_SORTED_AS_OBJECTS));
  }

  /** One task at a time, so that each knows of those before it. */
  @Test
  void afterThreeWrongGuessesReduceTasksGuessNoMore() {
    spark = RddOnBothEngines.start("local[1]", Map.of());
    spark.assertSame(
        within((left, right) -> Integer.compareUnsigned(Integer.reverse(left), Integer.reverse(right))));
    assertCounts(0, 0, 0, MOST_REFUTED);
    assertEquals(PARTITIONS, spark.counter(Counter.READ_PARTITIONS_SORTED_AS_OBJECTS));
  }

  /** One key of 200 is behind all others, which the bounds do not show. */
  @Test
  void afterThreeWrongGuessesAMapTaskGuessesNoMore() {
    spark = RddOnBothEngines.start(Map.of());
    JavaPairRDD<Integer, Integer> few = spark.numbers(COUNT).mapToPair(n -> new Tuple2<>(n * 7919 % COUNT, 1));
    spark.assertSame(context -> RddOnBothEngines.sorted(
        few.sortByKey(LAST, true, PARTITIONS)
            .collect()));
    assertEquals(MAP_TASKS * MOST_REFUTED, spark.counter(Counter.WRITE_RANGES_REFUTED));
    long proven = spark.counter(Counter.WRITE_RANGES_PROVEN);
    assertTrue(proven > 0 && proven < COUNT / 2, proven + " proven");
  }

  /** Nor are they counted, and the other keys' ranges are guessed on. */
  @Test
  void forNullKeysNothingIsGuessed() {
    spark = RddOnBothEngines.start(Map.of());
    Comparator<Integer> nullsLast = Comparator.nullsLast(Comparator.<Integer>naturalOrder());
    JavaPairRDD<Integer, Integer> records = mixedNumbers()
        .mapToPair(record -> record._2() % 500 == 7 ? new Tuple2<>((Integer) null, 1) : record);
    spark.assertSame(ranges((Unknown & Serializable) nullsLast::compare, records));
    assertEquals(0, spark.counter(Counter.WRITE_RANGES_REFUTED));
    assertEquals(COUNT - COUNT / 500, spark.counter(Counter.WRITE_RANGES_PROVEN));
  }

  /** A map task whose keys begin with many nulls, which the sample of the bounds did not have. */
  @Test
  void amongNearlyOnlyNullKeysNothingIsSearched() {
    spark = RddOnBothEngines.start(Map.of());
    Comparator<Integer> nullsLast = Comparator.nullsLast(Comparator.<Integer>naturalOrder());
    Ordering<Integer> ordering = Ordering$.MODULE$.comparatorToOrdering((Unknown & Serializable) nullsLast::compare);
    @SuppressWarnings({"unchecked", "rawtypes"}) // As Spark's Java API makes it.
    Partitioner ranges = new RangePartitioner(
        PARTITIONS, mixedNumbers().rdd(), true, 20, ordering, ClassTag$.MODULE$.AnyRef());
    JavaPairRDD<Integer, Integer> records = mixedNumbers().coalesce(1)
        .mapToPair(record -> record._2() < COUNT / 2 ? new Tuple2<>((Integer) null, 1) : record);
    spark.assertSame(context -> RddOnBothEngines.inOrder(RddOnBothEngines.shuffled(records, ranges)));
    assertCounts(0, 0, 0, 0);
  }
}
