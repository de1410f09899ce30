package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.Map;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tasks that end in the middle of a shuffle leave no memory and no files behind, and the next job runs. */
@Tag("UCX")
class CancellationTest {
  private static final long ROWS = 400_000;
  private static final Duration LIMIT = Duration.ofSeconds(30);

  private static SparkApplication application;
  private final ExecutorService background = Executors.newSingleThreadExecutor();

  @BeforeAll
  static void start() {
    application = SparkApplication.on(Engine.UNDER_TEST)
        .setAll(Map.of("spark.sluice.writer.batchBytes", "1m"))
        .start();
  }

  @AfterAll
  static void stop() {
    application.close();
  }

  @AfterEach
  void endThread() {
    background.shutdownNow();
  }

  @VariantsInAll
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void jobCancelledWhileWriting(boolean interrupt) throws Exception {
    Pause.register(application.session(), "pause", 150_000);
    assertCleanAfterCancel(events().selectExpr("pause(id) AS id", "k", "name").repartition(8, col("k")), interrupt);
  }

  @VariantsInAll
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void jobCancelledWhileReading(boolean interrupt) throws Exception {
    Pause.register(application.session(), "pause", 150_000);
    assertCleanAfterCancel(events().repartition(8, col("k")).selectExpr("pause(id) AS id", "k", "name"), interrupt);
  }

  @Test
  void limitStopsTheReaderEarly() {
    Dataset<Row> data = events().repartition(4, col("k"));
    int rows = Plans.rows(data).mapPartitions(Iterators::firstOnly).collect().size();
    assertEquals(4, rows);
    assertNextJobRuns();
  }

  @Test
  void exceptionWhileWriting() {
    Dataset<Row> data =
        events().selectExpr("IF(id = 150000, raise_error('on purpose'), id) AS id", "k").repartition(8, col("k"));
    Exception failure = assertThrows(Exception.class, () -> Fingerprint.of(data));
    assertTrue(failure.toString().contains("on purpose"), failure::toString);
    assertNextJobRuns();
  }

  @Test
  void exceptionWhileReading() {
    Dataset<Row> data =
        events().repartition(8, col("k")).selectExpr("IF(id = 150000, raise_error('on purpose'), id) AS id");
    Exception failure = assertThrows(Exception.class, () -> Fingerprint.of(data));
    assertTrue(failure.toString().contains("on purpose"), failure::toString);
    assertNextJobRuns();
  }

  private static Dataset<Row> events() {
    return Tables.events(application.session(), ROWS, 2);
  }

  private void assertCleanAfterCancel(Dataset<Row> data, boolean interrupt) throws Exception {
    int killedBefore = application.events().killedTasks();
    JavaSparkContext context = application.context();
    Future<?> job = background.submit(() -> {
      context.setJobGroup("doomed", "a job to cancel", interrupt);
      Fingerprint.of(data);
    });
    Pause.awaitReached();
    context.cancelJobGroup("doomed");
    ExecutionException failure = assertThrows(ExecutionException.class, job::get);
    assertTrue(failure.toString().contains("cancelled"), failure::toString);
    Await.until(LIMIT, () -> "no task was killed", () -> application.events().killedTasks() > killedBefore);
    assertNextJobRuns();
  }

  private static void assertNextJobRuns() {
    Await.until(LIMIT, () -> "tasks still run", CancellationTest::idle);
    NativeMemory.assertAllReturned();
    assertEquals(ROWS, Fingerprint.of(events().repartition(5, col("k"))).rows());
    NativeMemory.assertAllReturned();
  }

  private static boolean idle() {
    return application.context().statusTracker().getActiveStageIds().length == 0;
  }
}
