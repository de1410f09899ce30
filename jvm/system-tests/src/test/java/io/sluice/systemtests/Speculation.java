package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Two attempts of one task at once: one wins, the other is killed, no row is lost or doubled. */
class SpeculationTest {
  private static final long ROWS = 100_000;
  private static final long SLOW_ID = 61_803;

  private static StandaloneCluster cluster;
  private static SparkApplication application;

  @BeforeAll
  static void start() throws IOException {
    cluster = StandaloneCluster.start();
    application = SparkApplication.on(Engine.UNDER_TEST)
        .master(cluster.masterUrl())
        .set("spark.scheduler.minRegisteredResourcesRatio", "1.0")
        .set("spark.cores.max", "2")
        .set("spark.speculation", "true")
        .set("spark.speculation.interval", "100ms")
        .set("spark.speculation.quantile", "0.5")
        .set("spark.speculation.multiplier", "1.5")
        .set("spark.speculation.minTaskRuntime", "500ms")
        .set("spark.locality.wait", "0")
        .start();
    Straggler.register(application.session(), "slow", SLOW_ID);
  }

  @AfterAll
  static void stop() {
    application.close();
    cluster.close();
  }

  @Test
  void ofAMapTask() {
    assertSpeculated(events().selectExpr("slow(id) AS id", "k", "name").repartition(8, col("k")));
  }

  @Test
  void ofAReduceTask() {
    assertSpeculated(events().repartition(8, col("k")).selectExpr("slow(id) AS id", "k", "name"));
  }

  private static Dataset<Row> events() {
    return Tables.events(application.session(), ROWS, 6);
  }

  private static void assertSpeculated(Dataset<Row> data) {
    int killedBefore = application.events().killedTasks();
    Fingerprint expected = Fingerprint.of(events().select("id", "k", "name")).unordered();
    assertEquals(expected, Fingerprint.of(data).unordered());
    Await.until(java.time.Duration.ofSeconds(30), () -> "no attempt was killed",
        () -> application.events().killedTasks() > killedBefore);
    assertTrue(application.events().fetchFailures().isEmpty());
  }
}
