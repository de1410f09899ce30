package io.sluice.systemtests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.sluice.spark.metrics.Counter;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import org.apache.spark.SparkEnv;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** DataFusion Comet: its operators above Sluice's shuffle; with its own shuffle, Sluice's plugin leaves it alone. */
@InAll
@Timeout(300)
class CometTest {
  private static final String SHUFFLE_MANAGER = "org.apache.spark.sql.comet.execution.shuffle.CometShuffleManager";
  private static final Map<String, String> SETTINGS = new TreeMap<>(Map.of(
      "spark.comet.enabled", "true", "spark.comet.exec.enabled", "true",
      "spark.memory.offHeap.enabled", "true", "spark.memory.offHeap.size", "1g",
      "spark.sql.adaptive.enabled", "true"));
  private static final String JOIN = "SELECT e.name, count(*) AS n, sum(e.k) AS total FROM facts e JOIN facts o "
      + "ON e.id = o.k WHERE e.d < 200 GROUP BY e.name";

  private static SparkApplication.Builder application(Engine engine, String plugins) {
    return SparkApplication.on(engine).setAll(SETTINGS).set("spark.plugins", plugins);
  }

  private static void facts(SparkSession spark, Path folder) {
    Tables.events(spark, 20_000, 3).write().mode("overwrite").parquet(folder.toString());
    spark.read().parquet(folder.toString()).createOrReplaceTempView("facts");
  }

  private static Fingerprint result(SparkApplication application, String[] plan) {
    Path folder = SparkApplication.workDir().resolve("comet-facts");
    try {
      facts(application.session(), folder);
      Dataset<Row> joined = application.session().sql(JOIN);
      Fingerprint rows = Fingerprint.of(joined.orderBy("name").repartition(1)).unordered();
      joined.collectAsList();
      plan[0] = String.join("\n", Plans.shape(joined));
      return rows;
    } finally {
      ShuffleFiles.deleteTree(folder);
    }
  }

  private static Fingerprint onStock() {
    String[] plan = new String[1];
    try (SparkApplication stock = SparkApplication.on(Engine.STOCK).start()) {
      return result(stock, plan);
    }
  }

  @Test
  void cometsOperatorsAboveSluicesShuffle() {
    assumeTrue(Engine.UNDER_TEST.isSluice());
    Fingerprint expected = onStock();
    String[] plan = new String[1];
    try (Neighbour comet = Neighbour.load("comet");
        SparkApplication application = application(
            Engine.UNDER_TEST, "io.sluice.spark.SluicePlugin,org.apache.spark.CometPlugin")
            .set("spark.comet.shuffle.enabled", "false").set("spark.comet.exec.shuffle.enabled", "false").start()) {
      assertEquals(expected, result(application, plan));
      assertTrue(plan[0].contains("Comet"), plan[0]);
      assertFalse(plan[0].contains("CometExchange") || plan[0].contains("CometColumnarExchange"), plan[0]);
      assertTrue(ProcessCounters.here(Counter.SHUFFLES_ROWS) >= 3);
      assertEquals(0, ProcessCounters.here(Counter.SHUFFLES_STOCK));
      assertTrue(ProcessCounters.here(Counter.WRITE_RECORDS) > 0);
    }
  }

  @Test
  void cometsExchangesAreCarriedBySluice() {
    assumeTrue(Engine.UNDER_TEST.isSluice());
    Fingerprint expected = onStock();
    String[] plan = new String[1];
    try (Neighbour comet = Neighbour.load("comet");
        SparkApplication application = application(
            Engine.UNDER_TEST, "io.sluice.spark.SluicePlugin,org.apache.spark.CometPlugin").start()) {
      assumeTrue(version().startsWith("0.12."), "the exchanges of another Comet stay as they are");
      assertEquals(expected, result(application, plan));
      assertTrue(plan[0].contains("CometExchange"), plan[0]);
      assertTrue(ProcessCounters.here(Counter.SHUFFLES_ROWS) >= 3);
      assertEquals(0, ProcessCounters.here(Counter.SHUFFLES_STOCK));
      application.session().conf().set("spark.sluice.comet", "false");
      assertEquals(expected, result(application, plan));
      assertFalse(plan[0].contains("CometExchange") || plan[0].contains("CometColumnarExchange"), plan[0]);
    }
  }

  /** Comet's, of the jar that {@link Neighbour} has loaded. */
  private static String version() {
    Properties build = new Properties();
    try (InputStream file = Thread.currentThread().getContextClassLoader()
        .getResourceAsStream("comet-git-info.properties")) {
      build.load(file);
      return build.getProperty("git.build.version");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  void cometsOwnShuffleIsUntouched() {
    assumeTrue(Engine.UNDER_TEST.isSluice());
    Fingerprint expected = onStock();
    String[] plan = new String[1];
    try (Neighbour comet = Neighbour.load("comet");
        SparkApplication application = application(
            Engine.STOCK, "io.sluice.spark.SluicePlugin,org.apache.spark.CometPlugin")
            .manager(SHUFFLE_MANAGER).set("spark.comet.shuffle.enabled", "true").start()) {
      assertEquals(SHUFFLE_MANAGER, SparkEnv.get().shuffleManager().getClass().getName());
      assertEquals(expected, result(application, plan));
      assertTrue(plan[0].contains("CometExchange") || plan[0].contains("CometColumnarExchange"), plan[0]);
      assertFalse(plan[0].contains("Sluice"), plan[0]);
    }
  }
}
