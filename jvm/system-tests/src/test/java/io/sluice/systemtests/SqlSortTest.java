package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.expr;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.sluice.spark.metrics.Counter;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.Supplier;
import org.apache.logging.log4j.Level;
import org.apache.spark.SparkEnv;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import scala.Option;

/** Sorts in SQL plans are Sluice's where they may be; beside them the plans are stock's, and so are the rows. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class SqlSortTest {
  private static final long ROWS = 20_000;
  private static final int SLICES = 3;
  private static final String SLUICES = "SluiceSort";
  private static final String STOCKS = "Sort";
  private static final String SETTING = "spark.sluice.sql.sort";

  private final List<Query> queries = List.of(
      Query.ordered("global sort", spark -> events(spark).orderBy("k", "id")),
      Query.ordered("sort below a projection", spark -> sortedBelow(events(spark))),
      Query.ordered("sort by expressions", spark -> events(spark)
          .orderBy(expr("id % 7").desc_nulls_first(), expr("IF(d < 0, NULL, struct(k, name))"), col("id").desc())),
      Query.ordered("sort by a struct of one field", spark -> events(spark)
          .sortWithinPartitions(expr("struct(IF(d < 100, NULL, d))"))),
      Query.of("sort-merge join", SqlSortTest::join),
      Query.of("sort-merge join by an expression", SqlSortTest::joinByExpression),
      Query.of("window over a join", spark -> window(join(spark))),
      Query.of("join of the same rows", SqlSortTest::selfJoin));

  private Map<String, Fingerprint> expected;
  private SparkApplication application;

  @BeforeAll
  void start() {
    assumeTrue(Engine.UNDER_TEST.isSluice(), "stock has no other sorts");
    expected = Query.onStock(queries);
    application = SparkApplication.on(Engine.UNDER_TEST).set("spark.sql.extensions", UserExtension.class.getName())
        .start();
  }

  @AfterAll
  void stop() {
    if (application != null) {
      application.close();
    }
  }

  @Test
  void sortsAreReplacedBelowOtherNodesToo() {
    assertSorts(1, 0, events(session()).orderBy("k", "id"));
    assertSorts(1, 0, sortedBelow(events(session())));
    assertSorts(2, 0, join(session()));
    assertSorts(3, 0, window(join(session())));
    assertSorts(1, 0, events(session()).sortWithinPartitions("name"));
  }

  @Test
  void sortsByExpressionsAndStructsAreReplaced() {
    assertSorts(1, 0, events(session()).orderBy(expr("id % 7"), col("id")));
    assertSorts(1, 0, events(session()).orderBy(expr("struct(k, struct(name, d))").desc(), expr("upper(name)")));
    assertSorts(2, 0, joinByExpression(session()));
  }

  /** Spark computes them only for rows that are equal in the keys before them; and arrays only Spark orders. */
  @Test
  void laterKeysThatMayFailToBeComputedStaySparks() {
    assertSorts(0, 1, events(session()).orderBy(col("k"), expr("id % 7")));
    assertSorts(0, 1, events(session()).orderBy(expr("array(k, id)")));
    assertSorts(0, 1, events(session()).orderBy(expr("struct(id % 7)")));
  }

  /** With the reason in the log, once. */
  @Test
  void sortsWithALimitOfMergedRunsStaySparksAndAreCounted() {
    long left = ProcessCounters.here(Counter.PLANS_SORTS_BY_SPARK);
    String limit = "spark.unsafe.sorter.spill.merge.factor";
    SparkEnv.get().conf().set(limit, "10");
    try (LogCapture log = LogCapture.open()) {
      assertSorts(0, 2, join(session()));
      List<String> said = log.messages(Level.INFO, "A sort in a plan stays Spark's, because " + limit);
      assertEquals(1, said.size(), said::toString);
    } finally {
      SparkEnv.get().conf().remove(limit);
    }
    assertEquals(left + 2, ProcessCounters.here(Counter.PLANS_SORTS_BY_SPARK));
    assertSorts(2, 0, join(session()));
    assertEquals(left + 2, ProcessCounters.here(Counter.PLANS_SORTS_BY_SPARK));
  }

  /** Beside Spark's own metrics. */
  @Test
  void theNodeShowsHowRowsWereSorted() {
    Dataset<Row> data = events(session()).sortWithinPartitions("k", "id");
    data.collectAsList();
    long byNumbers = Plans.metric(data, "sluiceRowsByNumbers").get(0);
    assertTrue(byNumbers > 0, "no row was sorted by numbers");
    assertEquals(ROWS, byNumbers + Plans.metric(data, "sluiceRowsCompared").get(0));
    assertEquals(1, Plans.metric(data, "sortTime").size());
    assertTrue(Plans.metric(data, "peakMemory").get(0) > 0, "no memory");
  }

  @Test
  void settingsOfTheSessionTakeSparksSorts() {
    for (String key : List.of(SETTING, "spark.sluice.enabled")) {
      with(key, "false", () -> {
        assertSorts(0, 1, events(session()).orderBy("k", "id"));
        assertSorts(0, 2, join(session()));
        return null;
      });
    }
  }

  @Test
  void oneSettingTakesSortsAwayTheOtherAllNodes() {
    String exchange = "spark.sluice.sql.exchange";
    assertNodes(2, 2);
    with(SETTING, "false", () -> assertNodes(0, 2));
    with(exchange, "false", () -> {
      assertNodes(0, 0);
      with(SETTING, "false", () -> assertNodes(0, 0));
      return null;
    });
  }

  /** Of the join's plan, which stays as it is otherwise; its rows are stock's. Null, so that it is an action. */
  private Void assertNodes(long sorts, long exchanges) {
    Dataset<Row> data = join(session());
    assertEquals(List.of(sorts, exchanges), List.of(count(SLUICES, data), count("SluicePartitions", data)));
    assertEquals(with("spark.sluice.enabled", "false", () -> Plans.shape(join(session()))),
        Plans.shapeWithoutSluice(data));
    assertEquals(expected.get("sort-merge join"), Fingerprint.of(data).unordered());
    return null;
  }

  @Test
  void otherSessionsOfTheApplicationHaveTheSorts() {
    assertSorts(1, 0, events(session().newSession()).orderBy("k", "id"));
  }

  @Test
  void extensionsOfTheUserStay() {
    String names = application.context().getConf().get("spark.sql.extensions");
    assertTrue(names.endsWith("plan.SluiceExtensions," + UserExtension.class.getName()), names);
    assertTrue(UserExtension.applied(), "Spark did not apply the user's extension");
  }

  /** But for the name, and for the numbers that Spark gives to expressions and plans. */
  @Test
  void explainedPlansDifferInTheNameOnly() {
    for (Query query : queries) {
      String ours = explained(query.body());
      String stocks = with(SETTING, "false", () -> explained(query.body()));
      assertTrue(ours.contains(SLUICES) && !stocks.contains(SLUICES), () -> query + "\n" + ours + "\n" + stocks);
      assertEquals(stocks, ours.replace(SLUICES, STOCKS), query.name());
    }
    String plan = Plans.queryExecution(events(session()).orderBy("k", "id")).toString();
    assertTrue(plan.matches("(?s).*\\*\\(\\d\\) SluiceSort \\[k#\\d+L ASC NULLS FIRST, id#\\d+L ASC NULLS FIRST\\],"
        + " true, 0\n.*"), plan);
  }

  @Test
  void exchangesAboveSortsAreReusedAsOften() {
    assertSorts(3, 0, selfJoin(session()));
    assertEquals(1, count("ReusedExchange", selfJoin(session())));
    assertEquals(1L, with(SETTING, "false", () -> count("ReusedExchange", selfJoin(session()))));
  }

  @Test
  void metricsOfTheNodeAreReported() {
    for (String generated : List.of("true", "false")) {
      Dataset<Row> data = with("spark.sql.codegen.wholeStage", generated, () -> {
        Dataset<Row> sorted = events(session()).sortWithinPartitions("name");
        assertEquals(ROWS, Fingerprint.of(sorted).rows());
        return sorted;
      });
      List<Long> peak = Plans.metric(data, "peakMemory");
      assertTrue(peak.size() == 1 && peak.get(0) > 0, () -> "peak memory " + peak);
      assertEquals(List.of(0L), Plans.metric(data, "spillSize"));
    }
  }

  /** As in a job whose function pulls its rows by a thread of its own. */
  @Test
  void sortedRowsMayBeReadByAThreadThatHasNoTask() {
    Dataset<Row> sorted = events(session()).sortWithinPartitions("k", "id");
    assertSorts(1, 0, sorted);
    List<Long> counts = sorted.javaRDD().mapPartitions(rows -> CompletableFuture.supplyAsync(() -> {
      long count = 0;
      while (rows.hasNext()) {
        rows.next();
        count++;
      }
      return List.of(count).iterator();
    }).get()).collect();
    assertEquals(ROWS, counts.stream().mapToLong(Long::longValue).sum());
  }

  @Test
  void rowsAreStocks() {
    assertRowsAreStocks(Map.of());
  }

  @InAll
  @Test
  void rowsAreStocksWithoutGeneratedCode() {
    assertRowsAreStocks(Map.of("spark.sql.codegen.wholeStage", "false"));
  }

  @InAll
  @Test
  void rowsAreStocksWithAdaptiveExecution() {
    assertRowsAreStocks(Map.of("spark.sql.adaptive.enabled", "true"));
  }

  private void assertRowsAreStocks(Map<String, String> settings) {
    for (Query query : queries) {
      Query here = query;
      for (Map.Entry<String, String> setting : settings.entrySet()) {
        here = here.with(setting.getKey(), setting.getValue());
      }
      assertEquals(expected.get(query.name()), here.run(session()), query.name());
      List<String> shape = here.runForShape(session());
      assertTrue(shape.stream().anyMatch(line -> line.trim().equals(SLUICES)), () -> query + ": " + shape);
    }
    NativeMemory.assertAllReturned();
  }

  private SparkSession session() {
    return application.session();
  }

  private <T> T with(String key, String value, Supplier<T> action) {
    Option<String> before = session().conf().getOption(key);
    session().conf().set(key, value);
    try {
      return action.get();
    } finally {
      if (before.isDefined()) {
        session().conf().set(key, before.get());
      } else {
        session().conf().unset(key);
      }
    }
  }

  /** The physical plan as {@code explain} shows it. */
  private String explained(Function<SparkSession, Dataset<Row>> query) {
    return Plans.queryExecution(query.apply(session())).executedPlan().toString().replaceAll("#\\d+|plan_id=\\d+", "");
  }

  private static void assertSorts(long sluices, long stocks, Dataset<Row> data) {
    List<String> shape = Plans.shape(data);
    assertEquals(List.of(sluices, stocks), List.of(count(SLUICES, data), count(STOCKS, data)), shape::toString);
  }

  private static long count(String node, Dataset<Row> data) {
    return Plans.shape(data).stream().filter(line -> line.trim().equals(node)).count();
  }

  private static Dataset<Row> events(SparkSession spark) {
    return Tables.events(spark, ROWS, SLICES);
  }

  private static Dataset<Row> sortedBelow(Dataset<Row> data) {
    return data.orderBy(col("k").desc(), col("id")).selectExpr("id + k AS sum", "name");
  }

  private static Dataset<Row> join(SparkSession spark) {
    Dataset<Row> right = spark.range(0, 500, 1, SLICES).selectExpr("id AS k", "concat('right ', id) AS right");
    return events(spark).join(right, "k");
  }

  private static Dataset<Row> joinByExpression(SparkSession spark) {
    Dataset<Row> right = spark.range(0, 500, 1, SLICES).selectExpr("concat('NAME_', id) AS number", "id AS n");
    return events(spark).join(right, expr("lower(number) = substring(name, 1, 8)")).select("id", "n");
  }

  private static Dataset<Row> window(Dataset<Row> data) {
    return data.selectExpr("id", "right", "row_number() OVER (PARTITION BY d ORDER BY id) AS n");
  }

  /** A window needs a sort; both sides of the join read its rows through one exchange. */
  private static Dataset<Row> selfJoin(SparkSession spark) {
    Dataset<Row> totals = events(spark).selectExpr("id", "sum(id) OVER (PARTITION BY d ORDER BY id) AS total");
    return totals.as("a").join(totals.as("b"), col("a.total").equalTo(col("b.total")))
        .selectExpr("a.id AS a", "b.id AS b");
  }
}
