package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** An application that ends, also in the middle of a job, leaves nothing in its process, and another one can follow. */
@Timeout(180)
class ApplicationEndTest {
  private static final Duration LIMIT = Duration.ofSeconds(30);
  private static final long ROWS = 50_000;

  @Test
  void oneApplicationAfterTheOtherInOneProcess() {
    Fingerprint expected = null;
    for (Engine engine : List.of(Engine.STOCK, Engine.UNDER_TEST, Engine.UNDER_TEST, Engine.STOCK, Engine.UNDER_TEST)) {
      try (SparkApplication application = SparkApplication.on(engine).start()) {
        Fingerprint rows = Fingerprint.of(shuffled(application.session())).unordered();
        expected = expected == null ? rows : expected;
        assertEquals(expected, rows, engine::toString);
        assertTrue(files(application).size() > 0);
        application.session().stop();
        assertNothingIsLeft(application);
      }
    }
  }

  @Test
  void anApplicationThatIsStoppedInTheMiddleOfAJob() throws Exception {
    ExecutorService background = Executors.newSingleThreadExecutor();
    try (SparkApplication application = SparkApplication.on(Engine.UNDER_TEST).start()) {
      Path gate = Files.createDirectories(application.localDir().resolve("gate"));
      Gate.register(application.session(), "gate", gate);
      Dataset<Row> data =
          Tables.events(application.session(), ROWS, 2).selectExpr("gate(id) AS id", "k").repartition(4, col("k"));
      Future<?> job = background.submit(() -> Fingerprint.of(data));
      Gate.awaitReached(gate);
      application.session().stop();
      ExecutionException failure = assertThrows(ExecutionException.class, () -> job.get(60, TimeUnit.SECONDS));
      assertTrue(failure.toString().contains("SparkContext"), failure::toString);
      // In local mode nobody kills the tasks: they go on in an application that has ended.
      Gate.open(gate);
      assertNothingIsLeft(application);
    } finally {
      background.shutdownNow();
    }
    try (SparkApplication next = SparkApplication.on(Engine.UNDER_TEST).start()) {
      assertEquals(ROWS, Fingerprint.of(shuffled(next.session())).rows());
    }
  }

  private static Dataset<Row> shuffled(SparkSession spark) {
    return Tables.events(spark, ROWS, 2).repartition(4, col("k"));
  }

  private static List<Path> files(SparkApplication application) {
    return ShuffleFiles.named(application.localDir(), "(temp_)?shuffle_.*");
  }

  /** Tasks that run while the application ends may take a moment longer. */
  private static void assertNothingIsLeft(SparkApplication application) {
    Await.until(LIMIT, () -> "there are " + files(application), () -> files(application).isEmpty());
    NativeMemory.assertAllReturned();
    Await.until(LIMIT, () -> "held: " + held(), () -> held().nothingOfShuffles());
  }

  private static Held held() {
    try {
      return Held.here();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
