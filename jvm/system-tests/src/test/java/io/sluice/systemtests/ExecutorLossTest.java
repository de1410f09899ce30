package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** An executor process dies in the middle of a shuffle; Spark runs its tasks again and the result is right. */
class ExecutorLossTest {
  private static final long ROWS = 100_000;
  private static final long FATAL_ID = 61_803;

  private SparkApplication application;
  private Path marker;

  @BeforeEach
  void start() {
    application = SparkApplication.on(Engine.UNDER_TEST).master(SparkApplication.CLUSTER).start();
    marker = application.localDir().resolve("died");
    ExecutorDeath.register(application.session(), "fatal", marker, FATAL_ID);
  }

  @AfterEach
  void stop() {
    application.close();
  }

  @Test
  void executorLostWhileWriting() {
    Dataset<Row> data = events().selectExpr("fatal(id) AS id", "k", "name").repartition(8, col("k"));
    assertSurvives(data, events().select("id", "k", "name"));
  }

  @Test
  void executorLostWhileReading() {
    Dataset<Row> data = events().repartition(8, col("k")).selectExpr("fatal(id) AS id", "k", "name");
    assertSurvives(data, events().select("id", "k", "name"));
  }

  private Dataset<Row> events() {
    return Tables.events(application.session(), ROWS, 4);
  }

  private void assertSurvives(Dataset<Row> data, Dataset<Row> unshuffled) {
    Fingerprint expected = Fingerprint.of(unshuffled).unordered();
    assertEquals(expected, Fingerprint.of(data).unordered());
    assertTrue(Files.exists(marker), "no executor died");
  }
}
