package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.expr;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Adaptive execution decides as on stock, from the sizes that the shuffle reports, and reads what it asks for. */
class AdaptiveTest {
  private static final long ROWS = 100_000;
  private static final Map<String, Fingerprint> EXPECTED_ROWS = new LinkedHashMap<>();
  private static final Map<String, List<String>> EXPECTED_SHAPES = new LinkedHashMap<>();

  private static SparkApplication application;

  /** Each query with a word that its plan must have, so that it tests what it says. */
  static Stream<Arguments> queries() {
    return Stream.of(
        Arguments.of(adaptive("coalesced partitions", spark -> texts(spark).groupBy("k").agg(expr("max(text)"), expr("count(1)"))), "coalesced"),
        Arguments.of(adaptive("skewed sort-merge join", AdaptiveTest::skewedJoin)
            .with("spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes", "200k")
            .with("spark.sql.adaptive.skewJoin.skewedPartitionFactor", "3")
            .with("spark.sql.adaptive.advisoryPartitionSizeInBytes", "150k"), "skewed"),
        Arguments.of(adaptive("broadcast conversion with local reads", AdaptiveTest::shrinkingJoin)
            .with("spark.sql.adaptive.autoBroadcastJoinThreshold", "200k"), "local"),
        Arguments.of(adaptive("no broadcast of what is too large", AdaptiveTest::shrinkingJoin)
            .with("spark.sql.adaptive.autoBroadcastJoinThreshold", "1k"), "SortMergeJoin"),
        Arguments.of(adaptive("rebalance", AdaptiveTest::rebalanced)
            .with("spark.sql.adaptive.advisoryPartitionSizeInBytes", "150k"), "skewed"),
        Arguments.of(adaptive("empty side", spark -> texts(spark).join(texts(spark).where("length(text) < 3"), "k")), ""),
        Arguments.of(adaptive("exchange reuse", AdaptiveTest::joinWithItself), "ReusedExchange"));
  }

  private static Query adaptive(String name, java.util.function.Function<SparkSession, Dataset<Row>> body) {
    return Query.of(name, body).with("spark.sql.adaptive.enabled", "true").with("spark.sql.shuffle.partitions", "20");
  }

  /** Keys and text that no codec can make much smaller, so that sizes on disk compare. */
  private static Dataset<Row> texts(SparkSession spark) {
    return spark.range(0, ROWS, 1, 4).selectExpr("id", "pmod(xxhash64(id), 2000) AS k", "sha2(CAST(id AS STRING), 256) AS text");
  }

  private static Dataset<Row> skewedJoin(SparkSession spark) {
    Dataset<Row> left = spark.range(0, ROWS, 1, 4)
        .selectExpr("IF(id % 5 = 0, pmod(xxhash64(id), 97), 7L) AS k", "sha2(CAST(id AS STRING), 256) AS text");
    Dataset<Row> right = spark.range(0, 97, 1, 2).selectExpr("id AS k", "id * 2 AS twice");
    return left.join(right, "k");
  }

  private static Dataset<Row> shrinkingJoin(SparkSession spark) {
    Dataset<Row> few = texts(spark).where("substr(text, 1, 2) = '00'").select(col("k"), col("id").as("other"));
    return texts(spark).join(few, "k");
  }

  private static Dataset<Row> joinWithItself(SparkSession spark) {
    Dataset<Row> counts = texts(spark).groupBy("k").agg(expr("count(1) AS n"));
    return counts.as("a").join(counts.as("b"), expr("a.n = b.n AND a.k = b.k + 1")).selectExpr("a.k", "b.n");
  }

  @BeforeAll
  static void start() {
    try (SparkApplication stock = SparkApplication.on(Engine.STOCK).start()) {
      queries().map(arguments -> (Query) arguments.get()[0]).forEach(query -> {
        EXPECTED_ROWS.put(query.name(), query.run(stock.session()));
        EXPECTED_SHAPES.put(query.name(), query.runForShape(stock.session()));
      });
    }
    application = SparkApplication.on(Engine.UNDER_TEST).start();
  }

  @AfterAll
  static void stop() {
    application.close();
  }

  @ParameterizedTest
  @MethodSource("queries")
  void sameDecisionsAndRowsAsStock(Query query, String mark) {
    assertEquals(EXPECTED_ROWS.get(query.name()), query.run(application.session()));
    List<String> shape = query.runForShape(application.session());
    assertEquals(String.join("\n", EXPECTED_SHAPES.get(query.name())), String.join("\n", shape));
    assertTrue(shape.stream().anyMatch(line -> line.contains(mark)), () -> "no " + mark + " in " + shape);
    NativeMemory.assertAllReturned();
  }

  /** By SQL: {@code Dataset.hint} takes columns from Spark 4 on only. */
  private static Dataset<Row> rebalanced(SparkSession spark) {
    Tables.skewed(spark, ROWS, 4).createOrReplaceTempView("skewed_rows");
    return spark.sql("SELECT /*+ REBALANCE(k) */ * FROM skewed_rows");
  }
}
