package io.sluice.spark.read;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.LocalSpark;
import io.sluice.spark.metrics.Counter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.functions;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The ways in which Spark reads a shuffle, each compared with Spark's own reader: rows, metrics, plan. */
@Timeout(300)
class ReadPathQueriesTest {
  private static final String AQE = "spark.sql.adaptive.";
  private static LocalSpark spark;

  @BeforeAll
  static void start() {
    spark = LocalSpark.start(Map.of("spark.sluice.reader.threads", "2"));
  }

  @AfterAll
  static void stop() {
    spark.close();
  }

  @AfterEach
  void nothingIsHeld() {
    assertEquals(0, spark.counter(Counter.MEMORY_LEAKED_BYTES));
    assertEquals(0, spark.manager().executorState().memory().budget().usedBytes());
    assertEquals(0, spark.manager().executorState().readAheadBytes().usedBytes());
  }

  private static Dataset<Row> table(long rows, int maps) {
    return spark.session().range(0, rows, 1, maps).selectExpr(
        "id", "id % 100 as k", "case when id % 10 < 9 then 1 else id % 100 end as skewed",
        "concat('name_', id % 1000) as name", "uuid() is not null as b");
  }

  private static void with(Map<String, String> settings, Runnable test) {
    settings.forEach(spark.session().conf()::set);
    try {
      test.run();
    } finally {
      settings.keySet().forEach(spark.session().conf()::unset);
    }
  }

  /** Same rows, and the same metrics: a reader that fetched other blocks or counted otherwise would differ. */
  private static void assertSameAsStock(Supplier<Dataset<Row>> query, String planWords) {
    Dataset<Row> ours = query.get();
    long before = spark.counter(Counter.READ_RECORDS);
    List<List<String>> rows = new ArrayList<>();
    TreeMap<String, Long> reads = reads(() -> rows.add(sorted(ours.collectAsList())));
    assertTrue(spark.counter(Counter.READ_RECORDS) > before, "the query was not read by Sluice");
    String plan = ours.queryExecution().executedPlan().toString();
    assertTrue(plan.contains(planWords), () -> "no " + planWords + " in " + plan);
    TreeMap<String, Long> stockReads = reads(() -> rows.add(sorted(spark.onStock(query))));
    assertEquals(rows.get(1), rows.get(0));
    assertEquals(stockReads, reads);
  }

  private static TreeMap<String, Long> reads(Supplier<?> work) {
    try {
      return ShuffleReads.of(spark.session(), work);
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  private static List<String> sorted(List<Row> rows) {
    return rows.stream().map(Row::toString).sorted().collect(Collectors.toList());
  }

  @Test
  void adaptiveCoalescedPartitionsAreReadInBatches() {
    with(Map.of(AQE + "enabled", "true", "spark.sql.shuffle.partitions", "40"),
        () -> assertSameAsStock(() -> table(3000, 5).groupBy("k").agg(functions.count("*"), functions.max("name")),
            "coalesced"));
  }

  @Test
  void withoutBatchFetchRowsAreStocks() {
    with(Map.of(AQE + "enabled", "true", "spark.sql.shuffle.partitions", "40",
        AQE + "fetchShuffleBlocksInBatch", "false"),
        () -> assertSameAsStock(() -> table(3000, 5).groupBy("k").agg(functions.count("*")), "coalesced"));
  }

  @Test
  void skewedPartitionsAreReadByMapRanges() {
    with(Map.of(AQE + "enabled", "true", "spark.sql.autoBroadcastJoinThreshold", "-1",
        AQE + "skewJoin.skewedPartitionThresholdInBytes", "1000",
        AQE + "skewJoin.skewedPartitionFactor", "2",
        AQE + "advisoryPartitionSizeInBytes", "2000",
        AQE + "coalescePartitions.minPartitionSize", "1b",
        AQE + "coalescePartitions.parallelismFirst", "false"), () -> {
          Supplier<Dataset<Row>> join = () -> table(6000, 6).join(
              table(100, 2).selectExpr("k as skewed", "id as other"), "skewed");
          List<String> ours = sorted(spark.onSluice(join));
          Dataset<Row> again = join.get();
          again.collectAsList();
          String plan = again.queryExecution().executedPlan().toString();
          assertTrue(plan.contains("skewed"), plan);
          assertTrue(plan.contains("skew=true") || plan.contains("isSkew"), plan);
          // Where the splits are depends on block sizes, so metrics differ from stock's; the rows must not.
          assertEquals(sorted(spark.onStock(join)), ours);
        });
  }

  @Test
  void aJoinThatBecomesABroadcastReadsLocally() {
    with(Map.of(AQE + "enabled", "true", "spark.sql.autoBroadcastJoinThreshold", "-1",
        AQE + "autoBroadcastJoinThreshold", "10m"), () -> {
          Supplier<Dataset<Row>> join = () -> table(5000, 4).join(
              table(5000, 3).where("name like 'name_1%'").selectExpr("id", "k as other"), "id");
          Dataset<Row> ours = join.get();
          List<String> rows = sorted(ours.collectAsList());
          String plan = ours.queryExecution().executedPlan().toString();
          assertTrue(plan.contains("AQEShuffleRead local"), plan);
          assertEquals(sorted(spark.onStock(join)), rows);
        });
  }

  @Test
  void aLimitCountsOnlyTheRowsThatItRead() {
    Supplier<Dataset<Row>> query =
        () -> table(40_000, 2).repartition(1, functions.col("k")).limit(700).selectExpr("count(*)");
    // Stock never adds up the metrics of a reader that is not read to its end; ours are exact.
    TreeMap<String, Long> reads = reads(() -> spark.onSluice(query));
    assertEquals(700, reads.get("records"));
    assertEquals(1, reads.get("localBlocks"));
  }

  @Test
  void aReusedExchangeIsReadTwice() {
    with(Map.of("spark.sql.autoBroadcastJoinThreshold", "-1"), () -> assertSameAsStock(() -> {
      Dataset<Row> shuffled = table(3000, 3).groupBy("k").agg(functions.count("*").as("n"));
      return shuffled.as("a").join(shuffled.as("b"), functions.expr("a.k = b.k"));
    }, "ReusedExchange"));
  }

  @Test
  void twoActionsReadOneShuffleTwice() {
    JavaRDD<Row> rdd = table(20_000, 3).repartition(6, functions.col("k")).javaRDD();
    long written = spark.counter(Counter.WRITE_MAP_OUTPUTS);
    assertEquals(20_000, rdd.count());
    assertEquals(20_000, rdd.map(row -> row.getLong(0)).collect().stream().distinct().count());
    assertEquals(3, spark.counter(Counter.WRITE_MAP_OUTPUTS) - written);
  }

  @Test
  void coalesceReadsSeveralPartitionsInOneTask() {
    assertSameAsStock(() -> table(20_000, 4).repartition(30, functions.col("id")).coalesce(2), "Coalesce");
  }

  @Test
  void unionAndSelfJoinOfLargePartitionsReadSeveralSidesAtOnce() {
    with(Map.of("spark.sql.autoBroadcastJoinThreshold", "-1"),
        () -> assertSameAsStock(() -> table(60_000, 2).as("a").join(table(60_000, 3).as("b"), "id")
            .union(table(60_000, 2).join(table(60_000, 2).as("c"), "id")).groupBy("a.k").count(), "SortMergeJoin"));
  }

  /** A consumer on a thread of its own (as Spark 3 feeds Python) gets rows that do not point at leased memory. */
  @Test
  void rowsMayBeReadByAnotherThread() {
    JavaRDD<Long> sums = table(20_000, 3).repartition(4, functions.col("k")).queryExecution().toRdd().toJavaRDD()
        .mapPartitions(rows -> {
          long[] sum = new long[1];
          Thread consumer = new Thread(() -> rows.forEachRemaining(row -> sum[0] += row.getLong(0)));
          consumer.start();
          consumer.join();
          return List.of(sum[0]).iterator();
        });
    assertEquals(20_000L * 19_999 / 2, sums.collect().stream().mapToLong(Long::longValue).sum());
  }

  @Test
  void framesAreDecodedByThePool() {
    long before = spark.counter(Counter.READ_FRAMES_BY_POOL);
    Supplier<Dataset<Row>> query =
        () -> table(600_000, 4).repartition(2, functions.col("k")).selectExpr("sum(id)", "sum(length(name))");
    assertEquals(spark.onStock(query), spark.onSluice(query));
    assertTrue(spark.counter(Counter.READ_FRAMES_BY_POOL) > before);
  }
}
