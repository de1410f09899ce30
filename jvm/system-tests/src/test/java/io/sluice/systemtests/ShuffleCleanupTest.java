package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.sluice.spark.SluiceShuffles;
import io.sluice.spark.metrics.Counter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.spark.HashPartitioner;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import scala.Tuple2;

/**
 * What two executors hold of shuffles is gone when the SQL execution or the program that made them is done with them.
 * The application starts without clean-up; its session asks for it.
 */
class ShuffleCleanupTest {
  private static final String CLEANUP = "spark.sluice.sql.cleanup";
  private static final String SPARKS_CLEANUP = "spark.sql.classic.shuffleDependency.fileCleanup.enabled";
  private static final Duration LIMIT = Duration.ofSeconds(60);

  private static SparkApplication application;

  @BeforeAll
  static void start() {
    assumeTrue(Engine.UNDER_TEST.isSluice(), "the setting is Sluice's");
    application = SparkApplication.on(Engine.UNDER_TEST).master(SparkApplication.CLUSTER)
        .set(CLEANUP, "off").start().awaitExecutors(2);
    application.session().conf().set(CLEANUP, "unreferenced");
  }

  @AfterAll
  static void stop() {
    if (application != null) {
      application.close();
    }
  }

  @AfterEach
  void nothingIsHeld() {
    application.session().conf().set(CLEANUP, "unreferenced");
    awaitNoFiles();
    Await.until(LIMIT, () -> "executors hold " + held(),
        () -> held().values().stream().allMatch(Held::nothingOfShuffles));
  }

  private static Map<String, Held> held() {
    return ExecutorSurvey.ask(application.context(), Held::here);
  }

  private static List<Path> files() {
    return ShuffleFiles.named(application.localDir(), "shuffle_.*");
  }

  private static void awaitNoFiles() {
    Await.until(LIMIT, () -> "there are " + files(), () -> files().isEmpty());
  }

  private static Dataset<Row> shuffled() {
    return Tables.events(application.session(), 20_000, 4).repartition(4, col("k")).groupBy("k")
        .agg(Map.of("id", "sum"));
  }

  private static List<String> rows(Dataset<Row> data) {
    return data.collectAsList().stream().map(Row::toString).sorted().toList();
  }

  @Test
  void outputsOfACountAndOfAWriteGo() {
    assertEquals(1_000, shuffled().count());
    awaitNoFiles();
    Path folder = SparkApplication.workDir().resolve("cleaned");
    shuffled().write().mode("overwrite").parquet(folder.toString());
    awaitNoFiles();
    assertEquals(1_000, application.session().read().parquet(folder.toString()).count());
    ShuffleFiles.deleteTree(folder);
    assertTrue(ProcessCounters.here(Counter.CLEANUP_SHUFFLES) >= 3);
    assertEquals(List.of(), application.events().fetchFailures());
  }

  /** Executors learn of a removal some seconds later, so these executions run while outputs go. */
  @Test
  void aPlanThatRunsAgainWhileItsOutputsGoGivesItsRows() {
    application.session().conf().set(CLEANUP, "all");
    Dataset<Row> data = shuffled();
    List<String> first = rows(data);
    for (int i = 0; i < 3; i++) {
      assertEquals(first, rows(data));
    }
    awaitNoFiles();
    assertEquals(first, rows(data));
  }

  @Test
  void cleanShuffleDependenciesRemovesOutputsAndTheyAreComputedAgain() {
    JavaPairRDD<Long, Long> pairs = application.session().range(0, 10_000, 1, 4).javaRDD()
        .mapToPair(id -> new Tuple2<>(id % 100, id)).reduceByKey(new HashPartitioner(3), Long::sum);
    Map<Long, Long> sums = pairs.collectAsMap();
    assertTrue(files().size() > 0);
    pairs.rdd().cleanShuffleDependencies(true);
    awaitNoFiles();
    assertEquals(sums, pairs.collectAsMap());
    pairs.rdd().cleanShuffleDependencies(true);
  }

  @Test
  void aProgramRemovesTheOutputsOfADatasetAndTheyAreComputedAgain() {
    application.session().conf().set(CLEANUP, "off");
    Dataset<Row> data = shuffled();
    assertEquals(0, SluiceShuffles.remove(data), "nothing has run");
    List<String> first = rows(data);
    assertTrue(files().size() > 0);
    assertTrue(SluiceShuffles.remove(data) > 0);
    assertEquals(0, SluiceShuffles.remove(data), "they are known to be gone");
    awaitNoFiles();
    assertEquals(first, rows(data));
    assertTrue(SluiceShuffles.remove(data) > 0);
    assertEquals(List.of(), application.events().fetchFailures());
  }

  @Test
  void sparksOwnSettingRemovesThem() {
    assumeTrue(application.session().conf().isModifiable(SPARKS_CLEANUP), "a setting since Spark 4.1");
    application.session().conf().set(CLEANUP, "off");
    application.session().conf().set(SPARKS_CLEANUP, "true");
    try {
      assertEquals(1_000, rows(shuffled()).size());
      awaitNoFiles();
    } finally {
      application.session().conf().unset(SPARKS_CLEANUP);
    }
  }
}
