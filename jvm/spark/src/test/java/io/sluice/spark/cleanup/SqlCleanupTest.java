package io.sluice.spark.cleanup;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.Await;
import io.sluice.spark.LocalSpark;
import io.sluice.spark.ShuffleFiles;
import io.sluice.spark.VariantsInAll;
import io.sluice.spark.conf.Settings;
import io.sluice.spark.metrics.Counter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.function.VoidFunction2;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.NamespaceChange;
import org.apache.spark.sql.connector.catalog.SupportsNamespaces;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.streaming.DataStreamWriter;
import org.apache.spark.sql.streaming.StreamingQuery;
import org.apache.spark.sql.streaming.Trigger;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.apache.spark.storage.StorageLevel;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import scala.Option;
import scala.runtime.AbstractFunction0;

/**
 * Which shuffles go when a SQL execution ends ({@code spark.sluice.sql.cleanup}), and that those which stay are used
 * again.
 */
@Timeout(180)
class SqlCleanupTest {
  private static final String CLEANUP = "spark.sluice.sql.cleanup";
  private static final String ADAPTIVE = "spark.sql.adaptive.enabled";
  private static final long ROWS = 1_000;
  private static LocalSpark spark;

  @TempDir Path folder;

  private long fetchFailuresBefore;

  @BeforeAll
  static void start() {
    // The default. Without Spark's own cleaner: what goes is removed by Sluice.
    spark = LocalSpark.start(Map.of("spark.sluice.sql.cleanup", Settings.from(new SparkConf(false)).sqlCleanup().name(),
        "spark.sql.shuffle.partitions", "3", "spark.sql.autoBroadcastJoinThreshold", "-1"));
  }

  @AfterAll
  static void stop() {
    spark.close();
  }

  @BeforeEach
  void count() {
    fetchFailuresBefore = spark.counter(Counter.READ_FETCH_FAILURES);
  }

  @AfterEach
  void removeTheRest() {
    settle();
    spark.session().conf().unset(CLEANUP);
    spark.session().conf().unset(ADAPTIVE);
    spark.session().catalog().clearCache();
    for (Path file : ShuffleFiles.named("shuffle_")) {
      spark.manager().unregisterShuffle(Integer.parseInt(file.getFileName().toString().split("_")[1]));
    }
    assertEquals(List.of(), ShuffleFiles.named("shuffle_"));
  }

  private static void settle() {
    try {
      spark.session().sparkContext().listenerBus().waitUntilEmpty();
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  private static Dataset<Row> table() {
    return spark.session().range(0, ROWS, 1, 3).selectExpr("id", "id % 10 AS k");
  }

  private static Dataset<Row> joined() {
    Dataset<Row> sums = table().groupBy("k").agg(functions.sum("id").as("s"));
    return table().repartition(4, col("k")).join(sums, "k").select("id", "s");
  }

  private static long outputs() {
    return spark.counter(Counter.WRITE_MAP_OUTPUTS);
  }

  private static long removed() {
    return spark.counter(Counter.CLEANUP_SHUFFLES);
  }

  private long fetchFailures() {
    return spark.counter(Counter.READ_FETCH_FAILURES) - fetchFailuresBefore;
  }

  private static int files() {
    settle();
    return ShuffleFiles.named("shuffle_").size();
  }

  @VariantsInAll
  @ParameterizedTest
  @ValueSource(strings = {"false", "true"})
  void shufflesOfActionsWithAPlanOfTheirOwnGo(String adaptive) {
    spark.session().conf().set(ADAPTIVE, adaptive);
    long before = removed();
    assertEquals(ROWS, joined().count());
    assertEquals(0, files());
    assertTrue(removed() >= before + 3, () -> removed() + " removed");
    joined().orderBy("id").tail(3);
    joined().orderBy("id").show(3);
    assertFalse(joined().isEmpty());
    assertEquals(0L, joined().orderBy("id").first().getLong(0));
    assertEquals(0, files());
    joined().write().parquet(folder.resolve("out").toString());
    assertEquals(0, files());
    joined().createOrReplaceTempView("joined");
    spark.session()
        .sql("INSERT OVERWRITE DIRECTORY '" + folder.resolve("sql") + "' USING parquet SELECT * FROM joined");
    assertEquals(0, files());
    assertEquals(ROWS, spark.session().read().parquet(folder.resolve("sql").toString()).count());
    assertEquals(0, fetchFailures());
  }

  @VariantsInAll
  @ParameterizedTest
  @ValueSource(strings = {"false", "true"})
  void shufflesOfSubqueriesAndReusedExchangesGo(String adaptive) {
    spark.session().conf().set(ADAPTIVE, adaptive);
    Dataset<Row> shuffled = table().repartition(4, col("k"));
    shuffled.createOrReplaceTempView("shuffled");
    long written = outputs();
    String ofSubquery =
        "SELECT * FROM shuffled WHERE k = (SELECT max(k) FROM shuffled GROUP BY k ORDER BY k DESC LIMIT 1)";
    assertEquals(ROWS / 10, spark.session().sql(ofSubquery).count());
    assertTrue(outputs() > written);
    assertEquals(0, files());
    assertEquals(ROWS * 100, shuffled.as("a").join(shuffled.as("b"), "k").count());
    assertEquals(0, files());
  }

  /** A stage that adaptive execution has run and then left out of the plan, because the other side has no rows. */
  @Test
  void shufflesThatAdaptiveExecutionDroppedGo() {
    spark.session().conf().set(ADAPTIVE, "true");
    long written = outputs();
    Dataset<Row> none = table().where("id % 7 = 8").groupBy("k").agg(functions.sum("id").as("s"));
    assertEquals(0, table().groupBy("k").count().join(none, "k").count());
    assertTrue(outputs() > written);
    // The stage of the dropped side may still run.
    Await.until("all files are gone", () -> files() == 0);
  }

  /** As stock: the second action skips the stages of the first. */
  @VariantsInAll
  @ParameterizedTest
  @ValueSource(strings = {"false", "true"})
  void aPlanThatRunsAgainFindsItsShuffles(String adaptive) {
    spark.session().conf().set(ADAPTIVE, adaptive);
    Dataset<Row> data = joined();
    List<Row> first = data.collectAsList();
    long written = outputs();
    assertTrue(files() > 0);
    assertEquals(ROWS, data.count());
    settle();
    assertEquals(first.size(), data.collectAsList().size());
    assertTrue(outputs() > written, "count has a plan of its own");
    long afterCount = outputs();
    data.collectAsList();
    assertEquals(afterCount, outputs());
    assertEquals(0, fetchFailures());
  }

  @VariantsInAll
  @ParameterizedTest
  @ValueSource(strings = {"false", "true"})
  void shufflesOfCachedTablesAndRddsStay(String adaptive) {
    spark.session().conf().set(ADAPTIVE, adaptive);
    Dataset<Row> cached = joined().persist(StorageLevel.DISK_ONLY());
    assertEquals(ROWS, cached.count());
    int ofCached = files();
    assertTrue(ofCached > 0, "the cached table's own shuffles");
    assertEquals(10, cached.groupBy("s").count().count());
    assertEquals(ofCached, files());
    var rdd = table().repartition(5, col("id")).javaRDD();
    assertEquals(ROWS, rdd.count());
    int withRdd = files();
    assertTrue(withRdd > ofCached);
    long written = outputs();
    assertEquals(ROWS, rdd.count());
    assertEquals(written, outputs());
    spark.session().conf().set(CLEANUP, "all");
    assertEquals(ROWS, rdd.count());
    assertEquals(ROWS, cached.count());
    assertEquals(withRdd, files());
    assertEquals(0, fetchFailures());
  }

  @VariantsInAll
  @ParameterizedTest
  @ValueSource(strings = {"false", "true"})
  void withAllAPlanThatRunsAgainComputesItsShufflesAgain(String adaptive) {
    spark.session().conf().set(ADAPTIVE, adaptive);
    spark.session().conf().set(CLEANUP, "all");
    Dataset<Row> data = joined();
    List<String> first = sorted(data.collectAsList());
    long written = outputs();
    assertEquals(0, files());
    assertEquals(first, sorted(data.collectAsList()));
    assertTrue(outputs() > written);
    assertEquals(0, files());
    assertEquals(0, fetchFailures(), "the tracker knew that they are gone");
  }

  /** The removal comes while the next execution of the same plan runs: it may see a fetch failure, never wrong rows. */
  @Test
  void executionsRacingWithRemovalsGiveTheirRows() {
    spark.session().conf().set(CLEANUP, "all");
    Dataset<Row> data = joined();
    List<String> first = sorted(data.collectAsList());
    for (int i = 0; i < 8; i++) {
      assertEquals(first, sorted(data.collectAsList()));
    }
    // Tasks of a stage that was begun again may still write.
    Await.until("all files are gone", () -> files() == 0);
  }

  @Test
  void rowsThatAreReadAfterTheExecutionAreThere() {
    spark.session().conf().set(CLEANUP, "all");
    Iterator<Row> rows = joined().toLocalIterator();
    assertTrue(rows.hasNext());
    settle();
    int count = 0;
    for (; rows.hasNext(); rows.next()) {
      count++;
    }
    assertEquals(ROWS, count);
    assertEquals(0, fetchFailures());
    Dataset<Row> checkpointed = joined().localCheckpoint(false);
    settle();
    assertEquals(ROWS, checkpointed.count());
    assertEquals(0, fetchFailures());
  }

  /** The statements of the spark-sql shell, and what clients of Spark Connect fetch, by the names that Spark gives. */
  @ParameterizedTest
  @ValueSource(strings = {"cli", "collectArrow"})
  void shufflesOfPlansThatAServerMadeGo(String action) {
    long before = removed();
    QueryExecution execution = joined().queryExecution();
    SQLExecution.withNewExecutionId(execution, Option.apply(action),
        new AbstractFunction0<Object>() {
          @Override
          public Object apply() {
            return execution.executedPlan().executeCollect();
          }
        });
    assertEquals(0, files());
    assertTrue(removed() > before);
  }

  /** The sinks of Spark keep nothing of a batch; the function of foreachBatch may. */
  @ParameterizedTest
  @ValueSource(strings = {"memory", "parquet", "foreachBatch"})
  void shufflesOfBatchesOfStreamsGoWhereSparkAloneHasHadThem(String sink) throws Exception {
    Path input = folder.resolve("input");
    table().write().parquet(input.toString());
    long before = removed();
    Dataset<Row> stream = spark.session().readStream().schema("id LONG, k LONG").parquet(input.toString())
        .repartition(2, col("k"));
    List<Dataset<Row>> kept = new ArrayList<>();
    DataStreamWriter<Row> writer = switch (sink) {
      case "memory" -> stream.groupBy("k").count().writeStream().format("memory").queryName("sums")
          .outputMode("complete");
      case "parquet" -> stream.writeStream().format("parquet").option("path", folder.resolve("out").toString());
      default -> stream.writeStream().foreachBatch((VoidFunction2<Dataset<Row>, Long>) (batch, id) -> {
        kept.add(batch);
        assertEquals(ROWS, batch.count());
      });
    };
    StreamingQuery query = writer.option("checkpointLocation", folder.resolve("checkpoint").toString())
        .trigger(Trigger.AvailableNow()).start();
    assertTrue(query.awaitTermination(120_000), "the stream has not ended");
    switch (sink) {
      case "memory" -> assertEquals(10, spark.session().table("sums").collectAsList().size());
      case "parquet" ->
          assertEquals(ROWS, spark.session().read().parquet(folder.resolve("out").toString()).collectAsList().size());
      default -> {
        assertTrue(files() > 0);
        long written = outputs();
        assertEquals(ROWS, kept.get(0).collectAsList().size());
        assertEquals(written, outputs(), "the batch's shuffle was there");
      }
    }
    if (!sink.equals("foreachBatch")) {
      assertEquals(0, files());
      assertTrue(removed() > before);
    }
    assertEquals(0, fetchFailures());
  }

  /** A catalog whose command makes an RDD and keeps it, as table formats keep the state of a table. */
  public static final class KeepingCatalog implements SupportsNamespaces {
    private static RDD<InternalRow> kept;

    @Override
    public void initialize(String name, CaseInsensitiveStringMap options) {}

    @Override
    public String name() {
      return "keeping";
    }

    @Override
    public String[][] listNamespaces() {
      return new String[0][];
    }

    @Override
    public String[][] listNamespaces(String[] namespace) {
      return new String[0][];
    }

    @Override
    public Map<String, String> loadNamespaceMetadata(String[] namespace) {
      return Map.of();
    }

    @Override
    public void createNamespace(String[] namespace, Map<String, String> metadata) {
      kept = joined().queryExecution().toRdd();
      assertEquals(ROWS, kept.count());
    }

    @Override
    public void alterNamespace(String[] namespace, NamespaceChange... changes) {}

    @Override
    public boolean dropNamespace(String[] namespace, boolean cascade) {
      return false;
    }
  }

  @Test
  void shufflesThatTheCodeOfACommandHasMadeStay() {
    spark.session().conf().set("spark.sql.catalog.keeping", KeepingCatalog.class.getName());
    // Without adaptive execution, whose stages toRdd runs as jobs of their own.
    spark.session().conf().set(ADAPTIVE, "false");
    spark.session().sql("CREATE NAMESPACE keeping.state");
    assertTrue(files() > 0);
    long written = outputs();
    assertEquals(ROWS, KeepingCatalog.kept.count());
    assertEquals(written, outputs());
    assertEquals(0, fetchFailures());
  }

  @Test
  void aSessionTurnsItOff() {
    spark.session().conf().set(CLEANUP, "off");
    long before = removed();
    assertEquals(ROWS, joined().count());
    assertTrue(files() > 0);
    assertEquals(before, removed());
  }

  @Test
  void aFailedExecutionLeavesNothing() {
    assertThrows(Exception.class, () -> joined().where("IF(id = 500, raise_error('on purpose'), s >= 0)").count());
    // Tasks beside the failed one end later.
    Await.until("all files are gone", () -> files() == 0);
  }

  private static List<String> sorted(List<Row> rows) {
    return rows.stream().map(Row::toString).sorted().toList();
  }
}
