package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.expr;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.ExchangeMetric;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** Rows of SQL exchanges are in the partitions that stock puts them in; so are their plans, but for one node. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class SqlExchangeTest {
  private static final String NODE = "SluicePartitions";
  private static final String SETTING = "spark.sluice.sql.exchange";

  private final List<Query> queries = ExchangeQueries.all();
  private Map<String, Fingerprint> expected;
  private SparkApplication application;

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
    assertNodes(1, ExchangeQueries.events(session()).repartition(7, col("k")));
    assertNodes(1, ExchangeQueries.events(session()).repartitionByRange(7, col("name")));
    assertNodes(1, ExchangeQueries.events(session()).repartitionByRange(7, expr("k % 5"), expr("struct(k, name)")));
    assertNodes(1, ExchangeQueries.events(session()).repartition(7));
    assertNodes(2, ExchangeQueries.join(session()));
    assertNodes(2, ExchangeQueries.joinOfTypes(session()));
    assertNodes(2, ExchangeQueries.joinOfDoubles(session()));
  }

  /** In every mode of {@code explain}, before the query runs; and with their metrics in what the SQL tab is made of. */
  @Test
  void explainedPlansHaveTheNodesAndTheSqlTabTheirMetrics() {
    Dataset<Row> data = ExchangeQueries.events(session()).repartition(7, col("k")).sortWithinPartitions("k", "id");
    for (String mode : List.of("simple", "extended", "cost", "formatted")) {
      String explained = Plans.explained(data, mode);
      assertTrue(explained.contains(NODE) && explained.contains("SluiceSort"), () -> mode + ": " + explained);
    }
    Set<String> ofExchange = Plans.shownMetrics(data, NODE);
    for (ExchangeMetric metric : ExchangeMetric.values()) {
      assertTrue(ofExchange.contains(metric.label()), () -> metric + " is not in " + ofExchange);
    }
    Set<String> ofSort = Plans.shownMetrics(data, "SluiceSort");
    for (String label : List.of("rows whose order numbers of their keys proved",
        "rows compared because such numbers were equal", "sort time", "peak memory", "spill size")) {
      assertTrue(ofSort.contains(label), () -> label + " is not in " + ofSort);
    }
  }

  @Test
  void exchangesByHashesOfExpressionsAndIntoOnePartitionHaveItToo() {
    for (String key : ExchangeQueries.HASHED) {
      assertNodes(1, ExchangeQueries.events(session()).repartition(7, expr(key)));
    }
    assertNodes(1, ExchangeQueries.byUsersFunction(ExchangeQueries.events(session())));
    assertNodes(1, ExchangeQueries.events(session()).repartition(1));
    assertNodes(0, ExchangeQueries.events(session()).groupBy().count());
    Dataset<Row> grouped = with("spark.sql.shuffle.partitions", "1", () -> {
      Dataset<Row> data = ExchangeQueries.events(session()).groupBy("k").count();
      assertNodes(1, data);
      return data;
    });
    assertEquals(1000, grouped.count());
  }

  /** By a method of Spark 4.1 and later. */
  @Test
  @Tag("once")
  void rowsThatSayTheirPartitionAreInIt() throws ReflectiveOperationException {
    Dataset<?> placed = (Dataset<?>) Dataset.class.getMethod("repartitionById", int.class, Column.class)
        .invoke(ExchangeQueries.events(session()), 7, expr("d - 9"));
    assertEquals(20_000, placed.where("spark_partition_id() = pmod(d - 9, 7)").count());
    assertNodes(1, placed.toDF());
  }

  /** Spark computes a subquery in the plan's own expression, and only there. */
  @Test
  void exchangesByKeysWithSubqueriesHaveNot() {
    long left = ProcessCounters.here(Counter.PLANS_EXCHANGES_BY_SPARK);
    assertNodes(0, ExchangeQueries.bySubquery(ExchangeQueries.events(session()), "DISTRIBUTE BY"));
    assertNodes(0, ExchangeQueries.bySubquery(ExchangeQueries.events(session()), "ORDER BY"));
    assertEquals(2, ProcessCounters.here(Counter.PLANS_EXCHANGES_BY_SPARK) - left);
  }

  @Test
  @Tag("once")
  void roundRobinThatSparkDoesNotSortIsCounted() {
    long left = ProcessCounters.here(Counter.PLANS_EXCHANGES_BY_SPARK);
    with("spark.sql.execution.sortBeforeRepartition", "false", () -> {
      assertNodes(0, ExchangeQueries.events(session()).repartition(7));
      return null;
    });
    assertEquals(left + 1, ProcessCounters.here(Counter.PLANS_EXCHANGES_BY_SPARK));
  }

  @Test
  @Tag("once")
  void aKeyThatFailsFailsAsOnStock() {
    Supplier<String> failure = () -> {
      Throwable cause = assertThrows(Exception.class,
          () -> ExchangeQueries.events(session()).repartition(7, expr("1 / (id - 5000)")).count());
      while (cause.getCause() != null) {
        cause = cause.getCause();
      }
      return cause.getClass().getName() + " " + cause.getMessage();
    };
    with("spark.sql.ansi.enabled", "true", () -> {
      assertEquals(with("spark.sluice.enabled", "false", failure), failure.get());
      return null;
    });
  }

  @Test
  @Tag("once")
  void settingsOfTheSessionTakeItAway() {
    for (String key : List.of(SETTING, "spark.sluice.enabled")) {
      assertEquals(0L, with(key, "false", () -> nodes(ExchangeQueries.join(session()))), key);
    }
  }

  @Test
  @Tag("once")
  void exchangesAreReusedAsOften() {
    Dataset<Row> totals = ExchangeQueries.events(session()).groupBy("k").count();
    Dataset<Row> self = totals.as("a").join(totals.as("b"), col("a.count").equalTo(col("b.count")));
    Dataset<Row> hashed = ExchangeQueries.events(session()).repartition(7, expr("upper(name)"));
    Dataset<Row> together = ExchangeQueries.events(session()).repartition(1);
    for (Dataset<Row> twice : List.of(self, hashed.union(hashed), together.union(together))) {
      List<String> shape = Plans.shape(twice);
      assertEquals(1, shape.stream().filter(line -> line.trim().equals("ReusedExchange")).count(), shape::toString);
    }
  }

  /** What Spark itself counts at the exchange above must agree. */
  @Test
  void theNodeShowsWhatTheTasksOfItsExchangeDid() {
    for (String adaptive : List.of("false", "true")) {
      Dataset<Row> data = with("spark.sql.adaptive.enabled", adaptive,
          () -> ran(ExchangeQueries.events(session()).repartition(7, col("k"))));
      assertEquals(Plans.metric(data, "shuffleBytesWritten"), Plans.metric(data, "sluiceEncodedBytes"));
      assertEquals(Plans.metric(data, "shuffleRecordsWritten"),
          List.of(total(data, "sluiceRowsPlaced") + total(data, "sluiceRowsAsked")));
      assertEquals(List.of(0L), Plans.metric(data, "sluiceRefutedTasks"));
      for (String metric : List.of("sluiceRowsPlaced", "sluiceFramesRead", "sluiceEncodeTime", "sluiceDecodeTime")) {
        assertTrue(total(data, metric) > 0, metric);
      }
    }
  }

  @Test
  @Tag("once")
  void theNodeOfAnExchangeThatIsReadTwiceCountsBothReads() {
    Dataset<Row> single = ran(ExchangeQueries.events(session()).repartition(7, col("k")));
    Dataset<Row> hashed = ExchangeQueries.events(session()).repartition(7, col("k"));
    Dataset<Row> twice = ran(hashed.union(hashed));
    assertEquals(Plans.metric(single, "sluiceEncodedBytes"), Plans.metric(twice, "sluiceEncodedBytes"));
    assertEquals(2 * total(single, "sluiceFramesRead"), total(twice, "sluiceFramesRead"));
  }

  private static Dataset<Row> ran(Dataset<Row> data) {
    data.collectAsList();
    return data;
  }

  private static long total(Dataset<Row> data, String metric) {
    return Plans.metric(data, metric).stream().mapToLong(Long::longValue).sum();
  }

  @Test
  @Tag("once")
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

  @InAll
  @Test
  @Tag("once")
  void rowsAreInStocksPartitionsWithoutGeneratedCode() {
    assertRowsAreStocks(Map.of("spark.sql.codegen.wholeStage", "false"));
  }

  @Test
  @Tag("once")
  void rowsAreStocksWithAdaptiveExecution() {
    assertRowsAreStocks(Map.of("spark.sql.adaptive.enabled", "true",
        "spark.sql.adaptive.coalescePartitions.enabled", "false"));
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
    String before = session().conf().get(key, null);
    session().conf().set(key, value);
    try {
      return action.get();
    } finally {
      if (before == null) {
        session().conf().unset(key);
      } else {
        session().conf().set(key, before);
      }
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
}
