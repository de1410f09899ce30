package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.SluiceShuffles;
import io.sluice.spark.metrics.Counter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.Test;

/** After the loss of an executor whose outputs others have read one-sidedly, nothing of the shuffle stays with them. */
@InAll
class SurvivorsTest {
  private static final Duration LIMIT = Duration.ofSeconds(120);
  private static final long ROWS = 100_000;
  private static final long FATAL_ID = 61_803;

  @Test
  void theyHoldNothingOfAShuffleThatIsRemoved() {
    OneSidedTransportTest.assumeUcx();
    try (SparkApplication application = SparkApplication.on(Engine.UNDER_TEST).master(SparkApplication.CLUSTER)
        .set("spark.shuffle.readHostLocalDisk", "false")
        .setAll(Map.of("spark.sluice.mode", "UCX", "spark.sluice.sql.cleanup", "unreferenced"))
        .start().awaitExecutors(2)) {
      Path marker = application.localDir().resolve("died");
      ExecutorDeath.register(application.session(), "fatal", marker, FATAL_ID);
      Dataset<Row> events = Tables.events(application.session(), ROWS, 4);
      Fingerprint expected = Fingerprint.of(events.select("id", "k")).unordered();
      Dataset<Row> shuffled = events.repartition(8, col("k")).select("id", "k");
      Await.until(LIMIT, () -> "no block is read one-sidedly", () -> {
        assertEquals(expected, Fingerprint.of(shuffled).unordered());
        return ProcessCounters.ofExecutors(application.context()).get(Counter.TRANSPORT_BLOCKS) > 0;
      });
      Dataset<Row> fatal = events.repartition(8, col("k")).selectExpr("fatal(id) AS id", "k");
      assertEquals(expected, Fingerprint.of(fatal).unordered());
      assertTrue(Files.exists(marker), "no executor died");
      assertEquals(expected, Fingerprint.of(shuffled).unordered());
      assertTrue(SluiceShuffles.remove(shuffled) > 0);
      assertTrue(SluiceShuffles.remove(fatal) > 0);
      Await.until(LIMIT, () -> "executors hold " + ExecutorSurvey.ask(application.context(), Held::here),
          () -> ExecutorSurvey.ask(application.context(), Held::here).values().stream()
              .allMatch(Held::nothingOfShuffles));
    }
  }
}
