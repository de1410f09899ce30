package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.expr;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** Rows of SQL exchanges are in the partitions that stock puts them in; so are their plans, but for one node. */
@Tag("everyLine")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class SqlExchangeTest {
  private static final long ROWS = 20_000;
  private static final int SLICES = 3;
  private static final String NODE = "SluicePartitions";
  private static final String SETTING = "spark.sluice.sql.exchange";
  /** So that Spark samples all rows, and bounds of ranges do not depend on the sample. */
  private static final String SAMPLE = "spark.sql.execution.rangeExchange.sampleSizePerPartition";

  /** The partition of every row is part of these queries' results. */
  private final List<Query> queries = List.of(
      placed("hash of a long", data -> data.repartition(7, col("k"))),
      placed("hash of several columns", data -> data.repartition(13, col("name"), col("d"), col("k"))),
      placed("hash of an expression", data -> data.repartition(7, expr("k % 5"))),
      placed("range of a string", data -> data.repartitionByRange(9, col("name").desc(), col("id"))),
      placed("range of a number", data -> data.repartitionByRange(40, col("d"))),
      placed("in turn", data -> data.repartition(11)),
      placed("one partition", data -> data.repartition(1)),
      Query.ordered("global sort", spark -> events(spark).orderBy("d", "id")),
      Query.of("join", SqlExchangeTest::join),
      Query.of("join of an int and a long", SqlExchangeTest::joinOfTypes),
      Query.of("join of doubles", SqlExchangeTest::joinOfDoubles),
      Query.of("aggregate of a join", spark -> join(spark).groupBy("name").count()),
      Query.of("rebalance", spark -> events(spark).hint("rebalance")));

  private Map<String, Fingerprint> expected;
  private SparkApplication application;

  private static Query placed(String name, UnaryOperator<Dataset<Row>> shuffle) {
    return Query.of(name, spark -> {
      // On stock too, which runs queries without their settings.
      spark.conf().set(SAMPLE, "10000");
      return shuffle.apply(events(spark)).withColumn("p", expr("spark_partition_id()"));
    });
  }

  @BeforeAll
  void start() {
    assumeTrue(Engine.UNDER_TEST.isSluice(), "stock has no such node");
    expected = Query.onStock(queries);
    application = SparkApplication.on(Engine.UNDER_TEST).start();
  }

  @AfterAll
  void stop() {
    if (application != null) {
      application.close();
    }
  }

  @Test
  void exchangesHaveTheNodeBelow() {
    assertNodes(1, events(session()).repartition(7, col("k")));
    assertNodes(1, events(session()).repartitionByRange(7, col("name")));
    assertNodes(1, events(session()).repartition(7));
    assertNodes(2, join(session()));
    assertNodes(2, joinOfTypes(session()));
    assertNodes(2, joinOfDoubles(session()));
  }

  @Test
  void exchangesByExpressionsAndIntoOnePartitionHaveNot() {
    assertNodes(0, events(session()).repartition(7, expr("k % 5")));
    assertNodes(0, events(session()).repartitionByRange(7, expr("k % 5")));
    assertNodes(0, events(session()).repartition(1));
  }

  @Test
  void settingsOfTheSessionTakeItAway() {
    for (String key : List.of(SETTING, "spark.sluice.enabled")) {
      assertEquals(0L, with(key, "false", () -> nodes(join(session()))), key);
    }
  }

  @Test
  void exchangesAreReusedAsOften() {
    Dataset<Row> totals = events(session()).groupBy("k").count();
    Dataset<Row> self = totals.as("a").join(totals.as("b"), col("a.count").equalTo(col("b.count")));
    assertEquals(1, Plans.shape(self).stream().filter(line -> line.trim().equals("ReusedExchange")).count());
  }

  @Test
  void plansDifferFromStocksInTheNodeOnly() {
    for (Query query : queries) {
      List<String> ours = query.runForShapeWithoutSluice(session());
      List<String> stocks = with("spark.sluice.enabled", "false", () -> query.runForShape(session()));
      assertEquals(stocks, ours, query.name());
    }
  }

  @Test
  void rowsAreInStocksPartitions() {
    assertRowsAreStocks(Map.of());
  }

  @Test
  void rowsAreInStocksPartitionsWithoutGeneratedCode() {
    assertRowsAreStocks(Map.of("spark.sql.codegen.wholeStage", "false"));
  }

  @Test
  void rowsAreStocksWithAdaptiveExecution() {
    assertRowsAreStocks(Map.of("spark.sql.adaptive.enabled", "true",
        "spark.sql.adaptive.coalescePartitions.enabled", "false"));
  }

  /** The writer of Spark's own shuffle gets the pairs that Spark makes. */
  @Test
  void rowsAreInStocksPartitionsWithSparksWriters() {
    with("spark.sluice.enabled", "false", () -> {
      assertRowsAreStocks(Map.of());
      return null;
    });
  }

  private void assertRowsAreStocks(Map<String, String> settings) {
    for (Query query : queries) {
      Query here = query;
      for (Map.Entry<String, String> setting : settings.entrySet()) {
        here = here.with(setting.getKey(), setting.getValue());
      }
      assertEquals(expected.get(query.name()), here.run(session()), query.name());
    }
    NativeMemory.assertAllReturned();
  }

  private SparkSession session() {
    return application.session();
  }

  private <T> T with(String key, String value, Supplier<T> action) {
    session().conf().set(key, value);
    try {
      return action.get();
    } finally {
      session().conf().unset(key);
    }
  }

  private static void assertNodes(long count, Dataset<Row> data) {
    List<String> shape = Plans.shape(data);
    assertEquals(count, nodes(data), shape::toString);
    for (int i = 0; i < shape.size(); i++) {
      int at = i;
      assertTrue(!shape.get(i).trim().equals(NODE) || shape.get(i - 1).trim().equals("Exchange"),
          () -> "line " + at + " of " + shape);
    }
  }

  private static long nodes(Dataset<Row> data) {
    return Plans.shape(data).stream().filter(line -> line.trim().equals(NODE)).count();
  }

  private static Dataset<Row> events(SparkSession spark) {
    return Tables.events(spark, ROWS, SLICES);
  }

  private static Dataset<Row> join(SparkSession spark) {
    Dataset<Row> right = spark.range(0, 500, 1, SLICES).selectExpr("id AS k", "concat('right ', id) AS right");
    return events(spark).join(right, "k");
  }

  private static Dataset<Row> joinOfTypes(SparkSession spark) {
    Dataset<Row> right = spark.range(0, 500, 1, SLICES).selectExpr("CAST(id AS INT) AS number", "id AS right");
    return events(spark).join(right, col("k").equalTo(col("number")));
  }

  /** Zeros of both signs are equal, and NaNs. */
  private static Dataset<Row> joinOfDoubles(SparkSession spark) {
    Dataset<Row> left = events(spark).selectExpr("id", "name",
        "CASE WHEN k % 50 = 0 THEN CAST('NaN' AS DOUBLE) WHEN k % 50 = 1 THEN -0.0D ELSE CAST(k AS DOUBLE) END AS x");
    Dataset<Row> right = spark.range(0, 100, 1, SLICES).selectExpr(
        "CASE WHEN id = 3 THEN CAST('NaN' AS DOUBLE) ELSE CAST(id AS DOUBLE) END AS y", "id AS right");
    return left.join(right, col("x").equalTo(col("y")));
  }
}
