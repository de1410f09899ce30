package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import java.util.stream.Stream;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.streaming.StreamingQuery;
import org.apache.spark.sql.streaming.StreamingQueryException;
import org.apache.spark.sql.streaming.Trigger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Other ways to run a plan than to collect a query: as an RDD, cached, as a stream, as a subquery. Stock's rows. */
@Tag("once")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class SqlUsesTest {
  private static final long ROWS = 10_000;

  private final List<Query> queries = List.of(
      Query.ordered("rows of a sorted table as an RDD",
          spark -> asRdd(events(spark).orderBy(col("k").desc(), col("id")))),
      Query.ordered("rows sorted within partitions as an RDD",
          spark -> asRdd(events(spark).sortWithinPartitions("name", "id"))),
      Query.of("rows of a repartitioned table as an RDD", spark -> asRdd(events(spark).repartition(5, col("k")))),
      Query.ordered("a cached table that is sorted when it is read", spark -> cached(events(spark)).orderBy("k", "id")),
      Query.ordered("a cached table of sorted rows", spark -> cached(events(spark).orderBy("name", "id"))),
      Query.of("a cached table that is joined with itself", SqlUsesTest::cachedAndJoined),
      Query.ordered("a scalar subquery",
          sql("SELECT * FROM events WHERE k > (SELECT avg(k) FROM events) ORDER BY k, id")),
      Query.ordered("a correlated subquery", sql(
          "SELECT id, d, (SELECT max(e.s) FROM events e WHERE e.d = o.d) AS most FROM events o ORDER BY d, id")),
      Query.of("a correlated EXISTS",
          sql("SELECT * FROM events o WHERE EXISTS (SELECT 1 FROM events e WHERE e.k = o.d AND e.id > o.id)")),
      Query.of("a stream that is grouped", SqlUsesTest::grouped));

  private Map<String, Fingerprint> expected;
  private SparkApplication application;

  @BeforeAll
  void start() {
    expected = Query.onStock(queries);
    application = SparkApplication.on(Engine.UNDER_TEST).start();
  }

  @AfterAll
  void stop() {
    application.close();
  }

  Stream<Query> queries() {
    return queries.stream();
  }

  @VariantsInAll(oneOf = 2)
  @ParameterizedTest
  @MethodSource("queries")
  void rowsAreStocks(Query query) {
    // Streams have no adaptive execution.
    for (String adaptive : query.name().startsWith("a stream") ? List.of("false") : List.of("false", "true")) {
      assertEquals(expected.get(query.name()), query.with("spark.sql.adaptive.enabled", adaptive).run(session()));
    }
    NativeMemory.assertAllReturned();
  }

  @Test
  void plansOfCachedTablesAndSubqueriesHaveSluicesNodes() {
    if (!Engine.UNDER_TEST.isSluice()) {
      return;
    }
    for (Query query : queries.subList(4, 9)) {
      String plan = Plans.queryExecution(query.body().apply(session())).executedPlan().toString();
      assertTrue(plan.contains("SluiceSort") && plan.contains("SluicePartitions"), query + "\n" + plan);
    }
  }

  private SparkSession session() {
    return application.session();
  }

  private static Dataset<Row> events(SparkSession spark) {
    return Tables.events(spark, ROWS, 3);
  }

  private static Function<SparkSession, Dataset<Row>> sql(String text) {
    return spark -> {
      events(spark).createOrReplaceTempView("events");
      return spark.sql(text);
    };
  }

  /** The rows once more, without the plan. */
  private static Dataset<Row> asRdd(Dataset<Row> data) {
    JavaRDD<Row> rows = data.javaRDD();
    return data.sparkSession().createDataFrame(rows, data.schema());
  }

  private static Dataset<Row> cached(Dataset<Row> data) {
    data.sparkSession().catalog().clearCache();
    Dataset<Row> cached = data.persist();
    assertEquals(ROWS, cached.count());
    return cached;
  }

  private static Dataset<Row> cachedAndJoined(SparkSession spark) {
    Dataset<Row> cached = cached(events(spark).repartition(4, col("k")));
    return cached.as("a").join(cached.groupBy("k").count().as("b"), "k");
  }

  /** Totals after the last of two batches, each of a file. */
  private static Dataset<Row> grouped(SparkSession spark) {
    // Each partition has files of its state.
    spark.conf().set("spark.sql.shuffle.partitions", "3");
    String folder = SparkApplication.workDir().resolve("stream").toString();
    events(spark).select("id", "k", "name").coalesce(2).write().mode("overwrite").parquet(folder);
    Dataset<Row> totals = spark.readStream().schema("id LONG, k LONG, name STRING").option("maxFilesPerTrigger", 1)
        .parquet(folder).groupBy("name").agg(Map.of("id", "sum", "k", "max"));
    try {
      StreamingQuery query = totals.writeStream().format("memory").queryName("totals").outputMode("complete")
          .trigger(Trigger.AvailableNow()).start();
      query.awaitTermination();
    } catch (TimeoutException | StreamingQueryException e) {
      throw new AssertionError("the stream failed", e);
    } finally {
      spark.conf().unset("spark.sql.shuffle.partitions");
      ShuffleFiles.deleteTree(Path.of(folder));
    }
    return spark.table("totals");
  }
}
