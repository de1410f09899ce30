package io.sluice.systemtests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.sluice.spark.metrics.Counter;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.SplittableRandom;
import java.util.zip.CRC32;
import org.apache.spark.api.java.function.MapFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * One row that is larger than any usual memory limit, on an executor with default settings and the heap that Spark's
 * own shuffle needs for it.
 */
@Tag("once")
class LargeRowsTest {
  private static final int HEAP_MIB = 5120;
  private static final int MIB = 100;

  private static List<String> stock;

  @BeforeAll
  static void reference() {
    stock = shuffled(Engine.STOCK, MIB);
  }

  @Test
  void aRowOf100MebibytesPasses() {
    assertEquals(stock, shuffled(Engine.UNDER_TEST, MIB));
  }

  @Test
  @InAll
  void aRowOf500MebibytesPasses() {
    assertEquals(shuffled(Engine.STOCK, 500), shuffled(Engine.UNDER_TEST, 500));
  }

  /** The row is written to a file, and read back to the heap, where Spark's own shuffle has it too. */
  @Test
  void aRowThatDoesNotFitTheLimitPasses() {
    try (SparkApplication application = SparkApplication.on(Engine.UNDER_TEST).master("local[1]")
        .set("spark.sluice.memory.limit", "64m").start()) {
      if (!Engine.writesFrames()) {
        return;
      }
      long rowsInFiles = ProcessCounters.here(Counter.WRITE_ROWS_TO_FILES);
      List<String> rows = sorted(rows(application.session(), MIB));
      assertEquals(rowsInFiles + 1, ProcessCounters.here(Counter.WRITE_ROWS_TO_FILES));
      assertEquals(stock, rows);
      NativeMemory.assertAllReturned();
    }
  }

  /** A block with such a row may be longer than any one message, so its reported size must not hide that. */
  @Test
  void aRowInAFileIsFetchedToTheDiskLikeAnyLargeBlock() {
    assumeTrue(Engine.writesFrames() && !Engine.readsOneSidedly());
    try (SparkApplication application = SparkApplication.on(Engine.UNDER_TEST).master("local-cluster[2,1,1024]")
        .set("spark.sluice.memory.limit", "64m").set("spark.network.maxRemoteBlockSizeFetchToMem", "1m")
        .set("spark.shuffle.readHostLocalDisk", "false").start().awaitExecutors(2)) {
      Dataset<Row> rows = application.session().range(0, 6, 1, 6)
          .map((MapFunction<Long, byte[]>) id -> bytes(20 << 20, id), Encoders.BINARY()).toDF("bytes").repartition(4);
      assertEquals(6, Fingerprint.of(rows).rows());
      long remote = Plans.metric(rows, "remoteBytesRead").get(0);
      assertTrue(remote > 0);
      assertEquals(remote, Plans.metric(rows, "remoteBytesReadToDisk").get(0));
      assertEquals(6, ProcessCounters.ofExecutors(application.context()).get(Counter.WRITE_ROWS_TO_FILES));
    }
  }

  private static List<String> shuffled(Engine engine, int mib) {
    try (SparkApplication application = SparkApplication.on(engine).master("local-cluster[1,1," + HEAP_MIB + "]")
        .set("spark.executor.memory", HEAP_MIB + "m").set("spark.task.maxFailures", "1").start().awaitExecutors(1)) {
      List<String> rows = sorted(rows(application.session(), mib));
      assertTrue(rows.stream().anyMatch(row -> row.contains(":" + ((long) mib << 20))), rows::toString);
      return rows;
    }
  }

  private static List<String> sorted(Dataset<Row> rows) {
    return rows.collectAsList().stream().map(Row::toString).sorted().toList();
  }

  /** Nine small rows and a large one that does not compress, shuffled; the result has their lengths and CRCs. */
  static Dataset<Row> rows(SparkSession session, int mib) {
    Dataset<Row> rows =
        session.range(0, 10, 1, 1).map((MapFunction<Long, byte[]>) id -> bytes(id == 5 ? mib << 20 : 10, id),
            Encoders.BINARY()).toDF("bytes");
    return rows.repartition(3).as(Encoders.BINARY())
        .map((MapFunction<byte[], String>) LargeRowsTest::describe, Encoders.STRING()).toDF("row");
  }

  private static byte[] bytes(int length, long seed) {
    ByteBuffer bytes = ByteBuffer.allocate(length);
    SplittableRandom random = new SplittableRandom(seed);
    while (bytes.remaining() >= Long.BYTES) {
      bytes.putLong(random.nextLong());
    }
    return bytes.array();
  }

  private static String describe(byte[] bytes) {
    CRC32 sum = new CRC32();
    sum.update(bytes);
    return sum.getValue() + ":" + bytes.length;
  }
}
