package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Sorts that spill: their metrics are filled, and they leave no memory and no files where they end early, by a limit or
 * a kill, and where the blocks below them are damaged.
 */
@Tag("once")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class SpillingSortTest {
  private static final long ROWS = 100_000;
  private static final int SLICES = 2;
  /** Rows in memory; every task of a sort spills several times. */
  private static final String MOST_ROWS = "8000";
  private static final String SPILL_FILES = "temp_local_.*";
  private static final Duration LIMIT = Duration.ofSeconds(30);

  private final ExecutorService background = Executors.newSingleThreadExecutor();
  private Observed stock;
  private Fingerprint limited;
  private SparkApplication application;

  /** Values of the metrics of a sort, and what its tasks have spilled. */
  private record Observed(List<Long> sortTime, List<Long> spillSize, List<Long> peakMemory, long rows) {
    static Observed of(SparkSession spark) {
      Dataset<Row> sorted = events(spark).sortWithinPartitions("name", "id");
      long rows = Fingerprint.of(sorted).rows();
      return new Observed(Plans.metric(sorted, "sortTime"), Plans.metric(sorted, "spillSize"),
          Plans.metric(sorted, "peakMemory"), rows);
    }

    void assertFilled() {
      assertEquals(ROWS, rows);
      for (List<Long> metric : List.of(sortTime, spillSize, peakMemory)) {
        assertTrue(metric.size() == 1 && metric.get(0) > 0, this::toString);
      }
    }
  }

  @BeforeAll
  void start() {
    assumeTrue(Engine.UNDER_TEST.isSluice(), "stock is the reference");
    try (SparkApplication reference = start(Engine.STOCK)) {
      stock = Observed.of(reference.session());
      limited = Fingerprint.of(limited(reference.session()));
    }
    // Map outputs in memory are on no disk, so they cannot be damaged there.
    application = start(Engine.UNDER_TEST);
  }

  private static SparkApplication start(Engine engine) {
    return SparkApplication.on(engine).setAll(Map.of("spark.sluice.store", "files",
        "spark.shuffle.spill.numElementsForceSpillThreshold", MOST_ROWS)).start();
  }

  @AfterAll
  void stop() {
    background.shutdownNow();
    if (application != null) {
      application.close();
    }
  }

  @AfterEach
  void nothingIsLeft() {
    Await.until(LIMIT, () -> "tasks still run",
        () -> application.context().statusTracker().getActiveStageIds().length == 0);
    NativeMemory.assertAllReturned();
    Await.until(LIMIT, () -> SparkEnv.get().memoryManager().executionMemoryUsed() + " bytes are in use",
        () -> SparkEnv.get().memoryManager().executionMemoryUsed() == 0);
    assertEquals(List.of(), ShuffleFiles.named(application.localDir(), SPILL_FILES));
  }

  @Test
  void metricsAreFilledAsStocksAre() {
    stock.assertFilled();
    for (String generated : List.of("true", "false")) {
      session().conf().set("spark.sql.codegen.wholeStage", generated);
      Observed ours = Observed.of(session());
      session().conf().unset("spark.sql.codegen.wholeStage");
      ours.assertFilled();
    }
  }

  @Test
  void aLimitEndsSortsEarly() {
    Dataset<Row> data = limited(session());
    assertEquals(limited, Fingerprint.of(data));
    assertSorts(data);
    assertTrue(Plans.metric(data, "spillSize").get(0) > 0);
  }

  /** The task is killed while the sorter takes rows, and while rows are read from it. */
  @ParameterizedTest
  @CsvSource({"true,false", "true,true", "false,false", "false,true"})
  void aKilledTaskFreesWhatItSorted(boolean inserting, boolean interrupt) throws Exception {
    Pause.register(session(), "pause", 60_000);
    Dataset<Row> data = inserting ? paused(events(session())).sortWithinPartitions("name", "id")
        : paused(events(session()).sortWithinPartitions("name", "id"));
    assertSorts(data);
    int killedBefore = application.events().killedTasks();
    JavaSparkContext context = application.context();
    Future<?> job = background.submit(() -> {
      context.setJobGroup("doomed", "a job to cancel", interrupt);
      Fingerprint.of(data);
    });
    Pause.awaitReached();
    assertTrue(SparkEnv.get().memoryManager().executionMemoryUsed() > 0);
    assertTrue(!ShuffleFiles.named(application.localDir(), SPILL_FILES).isEmpty(), "nothing was spilled");
    context.cancelJobGroup("doomed");
    assertThrows(ExecutionException.class, job::get);
    Await.until(LIMIT, () -> "no task was killed", () -> application.events().killedTasks() > killedBefore);
  }

  @Test
  void aDamagedBlockBelowASortIsComputedAgain() {
    Dataset<Row> data = events(session()).repartition(3, col("k")).sortWithinPartitions("name", "id");
    assertSorts(data);
    JavaRDD<InternalRow> rows = Plans.rows(data);
    Fingerprint before = Fingerprint.of(rows);
    int retriesBefore = application.events().retriedStages();
    Damage.BYTE_IN_THE_MIDDLE_FLIPPED.inflictBelow(application.localDir());
    assertEquals(before, Fingerprint.of(rows));
    assertTrue(application.events().retriedStages() > retriesBefore, "no stage was retried");
  }

  private SparkSession session() {
    return application.session();
  }

  private static Dataset<Row> events(SparkSession spark) {
    return Tables.events(spark, ROWS, SLICES);
  }

  private static Dataset<Row> paused(Dataset<Row> data) {
    return data.selectExpr("pause(id) AS id", "name", "k");
  }

  /** Three of the sorted rows are read; one partition, so that they are always the same ones. */
  private static Dataset<Row> limited(SparkSession spark) {
    return Tables.events(spark, ROWS, 1).sortWithinPartitions("name", "id").limit(3);
  }

  private static void assertSorts(Dataset<Row> data) {
    List<String> shape = Plans.shape(data);
    assertTrue(shape.stream().anyMatch(line -> line.trim().equals("SluiceSort")), shape::toString);
  }
}
