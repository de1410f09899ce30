package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.metrics.Counter;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.apache.spark.SparkContext;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * With {@code spark.io.encryption.enabled}: map outputs of executors that are decommissioned are read where they were
 * moved to, another executor or the fallback storage, and no row is in the files there.
 */
@Tag("once")
class EncryptedMigrationTest {
  private static final Duration LIMIT = Duration.ofSeconds(180);
  private static final int MAPS = 6;
  private static final String DATA_FILES = "shuffle_\\d+_\\d+_0\\.data";

  @TempDir private Path fallback;

  private static SparkApplication.Builder application(boolean encrypted) {
    return SparkApplication.on(Engine.UNDER_TEST)
        .master(SparkApplication.CLUSTER)
        .set("spark.io.encryption.enabled", Boolean.toString(encrypted))
        .set("spark.shuffle.compress", "false")
        .set("spark.decommission.enabled", "true")
        .set("spark.storage.decommission.enabled", "true")
        .set("spark.storage.decommission.shuffleBlocks.enabled", "true")
        .set("spark.storage.decommission.replicationReattemptInterval", "1s");
  }

  private static JavaRDD<InternalRow> shuffled(SparkApplication application) {
    return Plans.rows(Tables.events(application.session(), 60_000, MAPS)
        .selectExpr("id", "k", "concat('" + Marker.TEXT + "', id) AS text").repartition(8, col("k")));
  }

  @InAll
  @Test
  void mapOutputsAreReadWhereTheyWereMovedTo() throws IOException {
    try (SparkApplication application = application(true).start().awaitExecutors(2)) {
      JavaRDD<InternalRow> rows = shuffled(application);
      Fingerprint before = Fingerprint.of(rows).unordered();
      String executor = ClusterExecutors.ids(application.session().sparkContext()).get(0);
      ClusterExecutors.decommission(application.session().sparkContext(), executor);
      Await.until(LIMIT, () -> "still there: " + executor,
          () -> application.events().removedExecutors().contains(executor));
      assertReadWithoutRetry(application, rows, before);
      Marker.assertInNone(ShuffleFiles.data(application.localDir()));
    }
  }

  @Test
  @InAll
  void mapOutputsAreReadFromTheFallbackStorage() throws IOException {
    assertReadFromFallbackStorage(true);
    Marker.assertInNone(ShuffleFiles.named(fallback, DATA_FILES));
  }

  /** What the test above looks for is found where nothing is encrypted. */
  @Test
  @InAll
  void withoutEncryptionRowsAreInTheFallbackStorage() throws IOException {
    assertReadFromFallbackStorage(false);
    for (Path file : ShuffleFiles.named(fallback, DATA_FILES)) {
      assertTrue(Marker.isIn(file), file::toString);
    }
  }

  /** The only executor has no other to move its map outputs to. */
  private void assertReadFromFallbackStorage(boolean encrypted) {
    try (SparkApplication application = application(encrypted)
        .master("local-cluster[1,2,1024]")
        .set("spark.storage.decommission.fallbackStorage.path", fallback.toUri().toString())
        .start().awaitExecutors(1)) {
      JavaRDD<InternalRow> rows = shuffled(application);
      Fingerprint before = Fingerprint.of(rows).unordered();
      SparkContext context = application.session().sparkContext();
      String executor = ClusterExecutors.ids(context).get(0);
      ClusterExecutors.decommission(context, executor);
      Await.until(LIMIT, () -> "still there: " + executor + "; in the fallback storage: " + stored(),
          () -> stored().size() == MAPS && application.events().removedExecutors().contains(executor));
      context.requestExecutors(1);
      application.awaitExecutors(1);
      assertReadWithoutRetry(application, rows, before);
    }
  }

  private List<Path> stored() {
    return ShuffleFiles.named(fallback, DATA_FILES);
  }

  private static void assertReadWithoutRetry(
      SparkApplication application,
      JavaRDD<InternalRow> rows,
      Fingerprint before) {
    assertEquals(before, Fingerprint.of(rows).unordered());
    assertEquals(0, application.events().retriedStages(),
        () -> "map outputs were written again instead of moved, after " + application.events().fetchFailures());
    if (Engine.writesFrames()) {
      assertTrue(ProcessCounters.here(Counter.SHUFFLES_ROWS) > 0);
      assertEquals(0, ProcessCounters.here(Counter.SHUFFLES_STOCK));
    }
  }
}
