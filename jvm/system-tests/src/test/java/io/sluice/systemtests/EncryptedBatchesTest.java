package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.sluice.spark.metrics.Counter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * With {@code spark.io.encryption.enabled} no value of a batch of columns is in a file: not of the vectors of Spark's
 * Parquet reader, in map outputs and spills, and not of Arrow's. Without encryption they are in all of these files.
 */
@Tag("once")
class EncryptedBatchesTest {
  private static final long ROWS = 300_000;

  private static final Duration LIMIT = Duration.ofSeconds(120);

  private static Path folder;

  /** Texts that differ, so that the files have each, and are long enough for map tasks to spill. */
  @BeforeAll
  static void writeTable() {
    assumeTrue(Engine.writesFrames(), "Spark's own writers take rows");
    folder = SparkApplication.workDir().resolve("secret-batches");
    try (SparkApplication stock = SparkApplication.on(Engine.STOCK).start()) {
      stock.session().range(0, ROWS, 1, 2)
          .selectExpr("id", "concat('" + Marker.TEXT + "', id % 1000, repeat('.', 90)) AS text", "id % 77 AS k")
          .write().mode("overwrite").parquet(folder.toString());
    }
  }

  @AfterAll
  static void deleteTable() {
    if (folder != null) {
      ShuffleFiles.deleteTree(folder);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void valuesOfBatchesAreInNoFileThatIsEncrypted(boolean encrypted) {
    try (SparkApplication application = SparkApplication.on(Engine.UNDER_TEST)
        .set("spark.sluice.columnar", "true").set("spark.sluice.store", "files")
        .set("spark.sluice.memory.limit", "16m").set("spark.io.encryption.enabled", Boolean.toString(encrypted))
        .set("spark.shuffle.compress", "false").set("spark.shuffle.spill.compress", "false").start()) {
      Set<String> kinds = Set.of("data", "spill");
      assertEquals(encrypted ? Set.of() : kinds, kindsWithMarker(application, encrypted, ROWS, kinds,
          () -> application.session().read().parquet(folder.toString()).repartition(5, col("k"))));
      assertTrue(ProcessCounters.here(Counter.WRITE_SPILLS) > 0, "nothing was spilled");
      long rows = (long) ArrowSource.PARTITIONS * ArrowSource.BATCHES * ArrowSource.BATCH_ROWS;
      kinds = Set.of("data");
      assertEquals(encrypted ? Set.of() : kinds, kindsWithMarker(application, encrypted, rows, kinds,
          () -> ArrowSource.tableWithText(application.session(), Marker.TEXT).repartition(5, col("id"))));
      NativeMemory.assertAllReturned();
    }
  }

  /**
   * The kinds of files that had the marker while rows, which came from batches, were exchanged: once more until each of
   * {@code kinds} was seen, with the marker or, if it is encrypted, without.
   */
  private static Set<String> kindsWithMarker(
      SparkApplication application, boolean encrypted, long rows, Set<String> kinds, Supplier<Dataset<Row>> exchanged) {
    try (MarkerWatch watch = MarkerWatch.below(application.localDir())) {
      Await.until(LIMIT, () -> "not all of " + kinds + " were seen", () -> {
        assertExchanged(exchanged.get(), rows);
        return kinds.stream().allMatch(kind -> watch.hasSeen(kind, !encrypted));
      });
      return watch.kindsWith();
    }
  }

  private static void assertExchanged(Dataset<Row> exchanged, long rows) {
    long before = ProcessCounters.here(Counter.WRITE_ROWS_OF_BATCHES);
    // Rows as they are, so that no column is left out of the exchange.
    List<Long> counts = Plans.rows(exchanged).mapPartitions(all -> {
      long count = 0;
      for (; all.hasNext(); all.next()) {
        count++;
      }
      return List.of(count).iterator();
    }).collect();
    assertEquals(rows, counts.stream().mapToLong(count -> count).sum());
    assertEquals(rows, ProcessCounters.here(Counter.WRITE_ROWS_OF_BATCHES) - before, "rows from batches");
  }
}
