package io.sluice.bench.workload;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.bench.InAll;
import io.sluice.bench.catalogue.Catalogue;
import io.sluice.bench.catalogue.Entry;
import io.sluice.bench.check.Digest;
import io.sluice.bench.check.PairDigester;
import io.sluice.bench.check.SortColumn;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.LongFunction;
import java.util.stream.LongStream;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import scala.Tuple2;

/** Every workload on a Spark inside this JVM. */
class WorkloadsTest {

  private static final Sizing SIZING = new Sizing(2_000, 3, 5);
  private static JavaSparkContext context;
  private static SparkSession spark;

  @BeforeAll
  static void start() {
    context = new JavaSparkContext(new SparkConf().setMaster("local[2]").setAppName("workloads")
        .set("spark.ui.enabled", "false").set("spark.driver.host", "127.0.0.1")
        .set("spark.sql.warehouse.dir", "target/warehouse")
        // Compiling plans would take longer than interpreting them for so few rows.
        .set("spark.sql.codegen.wholeStage", "false"));
    spark = SparkSession.builder().getOrCreate();
  }

  @AfterAll
  static void stop() {
    context.stop();
  }

  @InAll
  @Test
  void resultsHaveTheExpectedSizeAndOrder() {
    long distinctKeys = BenchTable.of(spark, SIZING).select("k").distinct().count();
    Map<String, Long> expected = new HashMap<>(Map.of("generate", 2_000L, "repartition", 2_000L, "sort", 2_000L,
        "join", 2_000L, "aggregate", distinctKeys, "terasort-df", 2_000L));
    expected.putAll(Map.of("terasort", 2_000L, "sort-rdd", 2_000L, "cogroup-join", 2_000L,
        "groupby", distinct(row -> Scatter.mix(row) & Integer.MAX_VALUE),
        "wordcount", distinct(Words::drawn), "distinct", distinct(row -> Scatter.below(row, 1_000)),
        "pagerank", (long) ranksOneByOne().size(), "cold-query", distinctKeys));
    expected.putAll(Map.of("hibench-terasort", 2_000L, "spark-terasort", 2_000L,
        "groupby-objects", distinct(row -> Scatter.below(row, 200)), "aggregate-sets", distinct(Words::drawn),
        "wordcount-text", distinct(Words::drawn), "nested-tuples", distinct(row -> NestedTuples.visit(row)._1()),
        "small", LongStream.range(0, 200).map(job -> LongStream.range(10 * job, 10 * job + 10)
            .map(row -> Scatter.below(row, 5)).distinct().count()).sum()));
    expected.putAll(Map.of("round-robin", 2_000L, "rebalance", 2_000L, "window", 2_000L, "skew-join", 2_000L,
        "sort-strings", 2_000L, "sort-multi", 2_000L, "wide", 2_000L,
        "sort-expression", 2_000L,
        "distinct-sql", BenchTable.of(spark, SIZING).select("k", "d").distinct().count(),
        "collect-list", BenchTable.of(spark, SIZING).selectExpr("k % 100000").distinct().count()));
    expected.put("sort-pairs", 2_000L);
    expected.put("rebalance-narrow", 2_000L);
    expected.put("remote-read", 2_000L);
    for (Entry entry : Catalogue.entries()) {
      Workload workload = Catalogue.create(entry.name());
      workload.prepare(spark, SIZING);
      Digest digest = workload.verify(spark, SIZING);
      assertEquals(expected.get(entry.name().replace("-spilling", "")), digest.rows(), entry.name());
      assertTrue(digest.ordered(), entry.name());
    }
  }

  @Test
  void workloadsThatMeasureGrowthHaveTheExpectedSizeAndOrder() {
    Sizing few = new Sizing(60, 3, 5);
    for (Entry entry : Catalogue.groups().values().stream().flatMap(List::stream)
        .filter(each -> each.benchmark().isEmpty()).toList()) {
      Digest digest = Catalogue.create(entry.name()).verify(spark, few);
      assertEquals(60, digest.rows(), entry.name());
      assertTrue(digest.ordered(), entry.name());
    }
    Digest blocks = new ManyBlocks().verify(spark, new Sizing(60, 3, 0));
    assertEquals(blocks, new ManyBlocks().verify(spark, new Sizing(60, 1, 0)));
    assertEquals(1_000, ManyBlocks.side(1_000_000));
    assertEquals(8, ManyBlocks.side(50));
    assertEquals(2_000, ManyBlocks.maps(20_000_000, 10_000));
    assertEquals(13, ManyBlocks.maps(61, 5));
  }

  private static long distinct(LongFunction<?> key) {
    return LongStream.range(0, SIZING.rows()).mapToObj(key).distinct().count();
  }

  @Test
  void teraSortGivesTheRecordsThatWereGenerated() {
    JavaPairRDD<byte[], byte[]> records = GeneratedRecords.pairs(context, SIZING.rows(), 1,
        row -> new Tuple2<>(TeraRecord.key(row), TeraRecord.value(row)));
    for (PairWorkload<?, ?> sort : List.of(new TeraSort(), new HiBenchTeraSort(), new SparkTeraSort())) {
      assertEquals(PairDigester.digest(records, false).checksum(), sort.verify(spark, SIZING).checksum());
    }
    assertFalse(PairDigester.digest(records, true).ordered());
  }

  @InAll
  @Test
  void resultsDoNotDependOnTheReducePartitions() {
    Sizing other = new Sizing(SIZING.rows(), SIZING.maps(), 2);
    for (PairWorkload<?, ?> workload : List.of(new TeraSort(), new SortRdd(), new GroupBy(), new WordCount(),
        new Distinct(), new CogroupJoin(), new PageRank(), new HiBenchTeraSort(), new SparkTeraSort(),
        new GroupObjects(), new AggregateSets(), new WordCountText(), new NestedTuples(),
        new SortPairs())) {
      assertEquals(workload.verify(spark, SIZING), workload.verify(spark, other), workload.getClass().getName());
    }
  }

  @Test
  void wordCountsAddUpToTheWords() {
    int words = new WordCount().result(context, SIZING).values().reduce(Integer::sum);
    assertEquals(SIZING.rows(), words);
  }

  @Test
  void ranksAreThoseOfAPlainLoop() {
    assertEquals(ranksOneByOne(), new PageRank().result(context, SIZING).collectAsMap());
  }

  /** PageRank without Spark, on the same graph; pages that lose all their links drop out, as in HiBench's job. */
  private static Map<Long, Double> ranksOneByOne() {
    Map<Long, Set<Long>> links = new HashMap<>();
    for (long page = 0; page < SIZING.rows(); page++) {
      for (Iterator<Tuple2<Long, Long>> edges = PageRank.edges(page, SIZING.rows()); edges.hasNext();) {
        links.computeIfAbsent(page, source -> new HashSet<>()).add(edges.next()._2());
      }
    }
    Map<Long, Double> ranks = new HashMap<>();
    links.keySet().forEach(page -> ranks.put(page, 1.0));
    for (int round = 0; round < 3; round++) {
      Map<Long, Double> sums = new HashMap<>();
      ranks.forEach((page, rank) -> links.get(page).forEach(
          target -> sums.merge(target, Math.rint(rank / links.get(page).size() * (1 << 24)) / (1 << 24), Double::sum)));
      ranks.clear();
      sums.forEach((page, sum) -> ranks.put(page, 1 - 0.85 + 0.85 * sum));
    }
    return ranks;
  }

  @InAll
  @Test
  void sparkSplitsTheSkewedJoinsLargestPartition() {
    Sizing sizing = new Sizing(4_000_000, 4, 40);
    spark.conf().set("spark.sql.shuffle.partitions", "40");
    Dataset<Row> join = new SkewJoin().query(spark, sizing);
    assertEquals(sizing.rows(), join.queryExecution().toRdd().count());
    String plan = join.queryExecution().executedPlan().toString();
    assertTrue(plan.contains("SortMergeJoin(skew=true)"), plan);
  }

  @Test
  void rddWorkloadsLeaveNothingCached() {
    new PageRank().run(spark, SIZING);
    assertEquals(Map.of(), context.getPersistentRDDs());
  }

  @Test
  void shufflingKeepsTheTable() {
    Digest table = new Generate().verify(spark, SIZING);
    assertEquals(table, new Repartition().verify(spark, SIZING));
    assertEquals(table, new GlobalSort().verify(spark, SIZING));
    assertEquals(table, new RoundRobin().verify(spark, SIZING));
    assertEquals(table, new Rebalance().verify(spark, SIZING));
    assertEquals(table, new SortByFive().verify(spark, SIZING));
  }

  @InAll
  @Test
  void everyWorkloadRunsIntoTheSink() {
    for (Entry entry : Catalogue.entries()) {
      Workload workload = Catalogue.create(entry.name());
      workload.prepare(spark, SIZING);
      workload.run(spark, SIZING);
    }
  }

  @Test
  void anUnsortedResultIsNotTakenForSorted() {
    DataFrameWorkload unsorted = new DataFrameWorkload() {
      @Override
      protected Dataset<Row> query(SparkSession session, Sizing sizing) {
        return BenchTable.of(session, sizing);
      }

      @Override
      protected List<SortColumn> order() {
        return List.of(SortColumn.ascending("k"));
      }
    };
    assertFalse(unsorted.verify(spark, SIZING).ordered());
  }

  @Test
  void tableHasTheDocumentedColumns() {
    List<String> columns = Arrays.stream(BenchTable.of(spark, SIZING).dtypes())
        .map(column -> column._1() + " " + column._2()).toList();
    assertEquals(List.of("id LongType", "k LongType", "d IntegerType", "x DoubleType", "s IntegerType",
        "name StringType", "y LongType", "c IntegerType"), columns);
  }

  @Test
  void unknownWorkloadsAreRefusedWithTheKnownOnes() {
    String message = assertThrows(IllegalArgumentException.class, () -> Catalogue.find("shuffle")).getMessage();
    assertTrue(message.contains("repartition"), message);
  }
}
