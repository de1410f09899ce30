package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** Two attempts of one task at once: one commits, the other is killed, and no row is lost or duplicated. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class Speculation {
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final long ROWS = 100_000;
  private static final long SLOW_ID = 61_803;

  private SparkApplication application;

  final void start(String master, Map<String, String> settings) {
    application = SparkApplication.on(Engine.UNDER_TEST)
        .master(master)
        .set("spark.scheduler.minRegisteredResourcesRatio", "1.0")
        .set("spark.cores.max", "2")
        .set("spark.speculation", "true")
        .set("spark.speculation.interval", "100ms")
        .set("spark.speculation.quantile", "0.5")
        .set("spark.speculation.multiplier", "1.5")
        .set("spark.speculation.minTaskRuntime", "500ms")
        .set("spark.locality.wait", "0")
        .setAll(settings)
        .start();
    Straggler.register(application.session(), "slow", SLOW_ID);
  }

  @AfterAll
  void stop() {
    if (application != null) {
      application.close();
    }
  }

  final SparkApplication application() {
    return application;
  }

  @Test
  void speculativeMapTask() {
    assertSpeculated(events().selectExpr("slow(id) AS id", "k", "name").repartition(8, col("k")));
  }

  @Test
  void speculativeReduceTask() {
    assertSpeculated(events().repartition(8, col("k")).selectExpr("slow(id) AS id", "k", "name"));
  }

  final Dataset<Row> events() {
    return Tables.events(application.session(), ROWS, 6);
  }

  private void assertSpeculated(Dataset<Row> data) {
    Fingerprint expected = Fingerprint.of(events().select("id", "k", "name")).unordered();
    int killedBefore = application.events().killedTasks();
    assertEquals(expected, Fingerprint.of(data).unordered());
    Await.until(LIMIT, () -> "no attempt was killed", () -> application.events().killedTasks() > killedBefore);
    assertTrue(application.events().fetchFailures().isEmpty());
  }
}
