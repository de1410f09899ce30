package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.sluice.spark.metrics.Counter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Random;
import org.apache.spark.api.java.function.MapFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Local directories that are full or cannot be written to. */
@Tag("deep")
class LocalDiskTest {
  private static final long ROWS = 100_000;
  private static final int SPARK_FOLDERS = 64;
  /**
   * Spark picks the directory of a map output by its name, in which only the attempt's number changes: with one
   * task at a time, every other attempt is in the other directory. Stock's spill files have random names too.
   */
  private static final String MANY_ATTEMPTS = "local[1,40]";

  @Test
  void oneOfTwoLocalDirectoriesIsFull() throws IOException {
    try (SmallDisk disk = mounted(1)) {
      Path roomy = Files.createDirectories(SparkApplication.workDir().resolve("roomy"));
      assertRightResult(disk.path() + "," + roomy);
      ShuffleFiles.deleteTree(roomy);
    }
  }

  @Test
  void allLocalDirectoriesAreFull() throws IOException {
    try (SmallDisk disk = mounted(1);
        SparkApplication application =
            SparkApplication.on(Engine.UNDER_TEST).set("spark.local.dir", disk.path().toString())
                .setAll(Map.of("spark.sluice.cache.hostLimit", "1m")).start()) {
      Exception failure = assertThrows(Exception.class, () -> Fingerprint.of(shuffled(application)));
      assertTrue(failure.toString().contains("No space left"), failure::toString);
      NativeMemory.assertAllReturned();
      assertEquals(10, Fingerprint.of(application.session().range(10).repartition(2).toDF()).rows());
    }
  }

  @Test
  void oneOfTwoLocalDirectoriesBecomesReadOnly() throws IOException {
    Path sound = Files.createDirectories(SparkApplication.workDir().resolve("sound"));
    try (SmallDisk disk = mounted(1);
        SparkApplication application = SparkApplication.on(Engine.UNDER_TEST)
            .master(MANY_ATTEMPTS)
            .set("spark.shuffle.sort.bypassMergeThreshold", "1")
            .set("spark.local.dir", disk.path() + "," + sound)
            .start()) {
      createAllFolders(disk.path());
      disk.makeReadOnly();
      assertEquals(unshuffled(application), Fingerprint.of(shuffled(application)).unordered());
      NativeMemory.assertAllReturned();
    } finally {
      ShuffleFiles.deleteTree(sound);
    }
  }

  /** Each task has three rows that go to a file; two of them fit the small directory. */
  @InAll
  @Test
  void rowsInAFileThatOutgrowsItsDirectoryGoOnInAnother() throws IOException {
    Path roomy = Files.createDirectories(SparkApplication.workDir().resolve("roomy"));
    try (SmallDisk disk = mounted(24);
        SparkApplication application = SparkApplication.on(Engine.UNDER_TEST)
            .master(MANY_ATTEMPTS)
            .set("spark.local.dir", disk.path() + "," + roomy)
            .setAll(Map.of("spark.sluice.memory.limit", "24m"))
            .start()) {
      Dataset<Row> rows = application.session().range(0, 36, 1, 12)
          .map((MapFunction<Long, byte[]>) LocalDiskTest::longRow, Encoders.BINARY()).toDF("bytes");
      assertEquals(Fingerprint.of(rows).unordered(), Fingerprint.of(rows.repartition(5, col("bytes"))).unordered());
      if (Engine.writesFrames()) {
        assertTrue(ProcessCounters.here(Counter.WRITE_ROWS_TO_FILES) >= 36);
        // Which directory a task begins in is drawn by lot, so one of twelve tasks finds the small one.
        assertTrue(ProcessCounters.here(Counter.WRITE_DIRECTORY_RETRIES) > 0);
      }
      NativeMemory.assertAllReturned();
    } finally {
      ShuffleFiles.deleteTree(roomy);
    }
  }

  private static byte[] longRow(long seed) {
    byte[] bytes = new byte[10 << 20];
    new Random(seed).nextBytes(bytes);
    return bytes;
  }

  /**
   * Spark creates these folders when it first needs them, for broadcasts too; in this test only shuffle files are to
   * fail.
   */
  private static void createAllFolders(Path localDir) throws IOException {
    Path blocks = ShuffleFiles.folder(localDir, "blockmgr-.*");
    for (int i = 0; i < SPARK_FOLDERS; i++) {
      Files.createDirectories(blocks.resolve(String.format("%02x", i)));
    }
  }

  private static void assertRightResult(String localDirs) {
    try (SparkApplication application = SparkApplication.on(Engine.UNDER_TEST)
        .master(MANY_ATTEMPTS)
        .set("spark.shuffle.sort.bypassMergeThreshold", "1")
        .set("spark.local.dir", localDirs)
        .setAll(Map.of("spark.sluice.memory.limit", "32m"))
        .start()) {
      assertEquals(unshuffled(application), Fingerprint.of(shuffled(application)).unordered());
      NativeMemory.assertAllReturned();
    }
  }

  private static SmallDisk mounted(int mib) throws IOException {
    SmallDisk disk = SmallDisk.mount(SparkApplication.workDir().resolve("small-disk"), mib);
    assumeTrue(disk != null, "mounting a small tmpfs needs root");
    return disk;
  }

  private static Dataset<Row> texts(SparkApplication application) {
    return application.session().range(0, ROWS, 1, 4).selectExpr("id", "sha2(CAST(id AS STRING), 512) AS text");
  }

  private static Dataset<Row> shuffled(SparkApplication application) {
    return texts(application).repartition(9, col("id"));
  }

  private static Fingerprint unshuffled(SparkApplication application) {
    return Fingerprint.of(texts(application)).unordered();
  }
}
