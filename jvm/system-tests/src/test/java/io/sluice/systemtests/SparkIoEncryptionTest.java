package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.count;
import static org.apache.spark.sql.functions.sum;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.metrics.Counter;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import scala.Tuple2;

/** {@code spark.io.encryption.enabled}: Sluice's own path, stock's results, and no row in a file. */
class SparkIoEncryptionTest {
  private static final String MARKER = Marker.TEXT;
  private static final long ROWS = 40_000;
  private static final int NUMBERS = 20_000;
  private static final int SCATTER = 7919;
  private static final long FIRST_ROW_MILLIS = 300;
  private static final Duration LIMIT = Duration.ofSeconds(120);
  private static final Query JOIN = Query.of("join", SparkIoEncryptionTest::join);
  private static final List<Query> QUERIES = List.of(
      JOIN,
      Query.moving("repartition", SparkIoEncryptionTest::secrets, rows -> rows.repartition(11, col("k"))),
      Query.ordered("sort", spark -> secrets(spark).orderBy(col("k"), col("id").desc())),
      Query.of("partial reads", spark -> secrets(spark).selectExpr("id", "IF(id % 4 > 0, 1, k) AS k").as("l")
          .join(secrets(spark).groupBy("k").count().as("r"), "k").select("l.id", "count"))
          .with("spark.sql.adaptive.enabled", "true")
          .with("spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes", "10k")
          .with("spark.sql.adaptive.skewJoin.skewedPartitionFactor", "1")
          .with("spark.sql.adaptive.advisoryPartitionSizeInBytes", "50k"),
      Query.of("several partitions at once", spark -> secrets(spark).groupBy("id").count())
          .with("spark.sql.adaptive.enabled", "true"));

  private static Dataset<Row> secrets(SparkSession spark) {
    return Tables.events(spark, ROWS, 4).selectExpr("id", "k", "concat('" + MARKER + "', id % 100) AS text");
  }

  private static Dataset<Row> join(SparkSession spark) {
    Dataset<Row> totals = secrets(spark).groupBy("k").agg(sum("id").as("total"), count("id").as("n"));
    return secrets(spark).join(totals, "k").select("id", "total", "n", "text");
  }

  /** Without compression, so that rows in the clear would be found. */
  private static SparkApplication.Builder encrypted() {
    return SparkApplication.on(Engine.UNDER_TEST)
        .set("spark.io.encryption.enabled", "true").set("spark.shuffle.compress", "false");
  }

  /** @return the sorted records: as long as somebody has them, Spark's cleaner leaves the files of their shuffle */
  private static JavaPairRDD<Integer, String> assertRecordsAreSorted(SparkApplication application) {
    List<Tuple2<Integer, String>> pairs = new ArrayList<>();
    for (int i = 0; i < NUMBERS; i++) {
      pairs.add(new Tuple2<>(i * SCATTER % NUMBERS, MARKER + i));
    }
    JavaPairRDD<Integer, String> sorted = application.context().parallelizePairs(pairs, 4).sortByKey(true, 3);
    List<Tuple2<Integer, String>> records = sorted.collect();
    pairs.sort((a, b) -> Integer.compare(a._1(), b._1()));
    assertEquals(pairs, records);
    return sorted;
  }

  private static void assertNoRowIsInAFile(SparkApplication application) throws IOException {
    Marker.assertInNone(ShuffleFiles.data(application.localDir()));
  }

  private static void assertOnSluicesPath() {
    if (Engine.writesFrames()) {
      assertTrue(ProcessCounters.here(Counter.SHUFFLES_ROWS) > 0 && ProcessCounters.here(Counter.SHUFFLES_RECORDS) > 0);
      assertEquals(0, ProcessCounters.here(Counter.SHUFFLES_STOCK));
    }
  }

  @Test
  void aDamagedMapOutputIsWrittenAgain() throws IOException {
    Fingerprint expected = Query.onStock(List.of(JOIN)).get(JOIN.name());
    try (SparkApplication application = encrypted().set("spark.sluice.store", "files").start()) {
      JavaRDD<InternalRow> rows = Plans.rows(join(application.session()));
      assertEquals(expected, Fingerprint.of(rows).unordered());
      int retriesBefore = application.events().retriedStages();
      Damage.BYTE_IN_THE_MIDDLE_FLIPPED.inflictBelow(application.localDir());
      assertEquals(expected, Fingerprint.of(rows).unordered());
      assertTrue(application.events().retriedStages() > retriesBefore, "no stage was retried");
      JavaPairRDD<Integer, String> sorted = assertRecordsAreSorted(application);
      assertOnSluicesPath();
      assertNoRowIsInAFile(application);
      assertEquals(3, sorted.getNumPartitions());
    }
  }

  /** @param checkedBefore whether Spark reads fetched blocks through a stream that checks frames, before Sluice does */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  @Tag("once")
  void executorsFetchEncryptedBlocks(boolean checkedBefore) throws IOException {
    Map<String, Fingerprint> expected = Query.onStock(QUERIES);
    try (SparkApplication application = encrypted().master(SparkApplication.CLUSTER)
        .set("spark.shuffle.readHostLocalDisk", "false")
        .set("spark.shuffle.detectCorrupt.useExtraMemory", Boolean.toString(checkedBefore)).start().awaitExecutors(2)) {
      for (Query query : QUERIES) {
        assertEquals(expected.get(query.name()), query.run(application.session()), query.name());
      }
      JavaPairRDD<Integer, String> sorted = assertRecordsAreSorted(application);
      assertOnSluicesPath();
      if (Engine.writesFrames()) {
        assertTrue(ProcessCounters.ofExecutors(application.context()).get(Counter.READ_REMOTE_BLOCKS) > 0);
      }
      assertEquals(0, application.events().retriedStages());
      assertNoRowIsInAFile(application);
      assertEquals(3, sorted.getNumPartitions());
      NativeMemory.assertAllReturnedBy(application);
    }
  }

  /**
   * Spark's block transfer puts blocks into files where a request asks for more than it may hold in memory: as they
   * are in map outputs, so sealed. Without encryption the rows are found in them.
   */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  @Tag("once")
  @VariantsInAll
  void noRowIsInAnEncryptedDownload(boolean encrypted) {
    try (SparkApplication application = encrypted().master(SparkApplication.CLUSTER)
        .set("spark.io.encryption.enabled", Boolean.toString(encrypted))
        .set("spark.shuffle.readHostLocalDisk", "false").set("spark.network.maxRemoteBlockSizeFetchToMem", "1k")
        .setAll(Map.of("spark.sluice.reader.threads", "0")).start().awaitExecutors(2);
        MarkerWatch watch = MarkerWatch.below(application.localDir())) {
      Await.until(LIMIT, () -> "no download was seen", () -> {
        JavaRDD<InternalRow> rows = Plans.rows(secrets(application.session()).repartition(6, col("k")));
        long read = rows.mapPartitions(SparkIoEncryptionTest::countSlowly).collect().stream().mapToLong(n -> n).sum();
        assertEquals(ROWS, read);
        return watch.hasSeen("download", !encrypted);
      });
      assertEquals(encrypted ? Set.of() : Set.of("data", "download"), watch.kindsWith());
      NativeMemory.assertAllReturnedBy(application);
    }
  }

  /** Waits at the first row, while blocks that the task has fetched and not yet read are in files. */
  private static Iterator<Long> countSlowly(Iterator<InternalRow> rows) throws InterruptedException {
    long count = 0;
    for (; rows.hasNext(); rows.next()) {
      if (count++ == 0) {
        Thread.sleep(FIRST_ROW_MILLIS);
      }
    }
    return List.of(count).iterator();
  }
}
