package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.abort;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.sluice.spark.metrics.Counter;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * An executor whose reads and writes of block files take long: the soak's library, which is loaded before libc, delays
 * them. Skipped where no C compiler is.
 */
@InAll
@Tag("once")
@Timeout(300)
class SlowDiskTest {
  private static final Path CALLS = Path.of("../bench/src/main/resources/io/sluice/bench/soak/calls.c");
  /** Of the structure that calls.c maps; the delay in microseconds is its second field. */
  private static final int CONTROL_BYTES = 48;
  private static final int DELAY_AT = 4;
  /** Much longer than a write of some megabytes takes where the disk alone is busy. */
  private static final int DELAY_MICROS = 100_000;
  /** The first tells the executor that its writes are slow. */
  private static final int ROUNDS = 2;

  /** One map task, whose only batch is its last; so the executor's second core is idle. */
  private static final Query QUERY = Query.moving("strings", SlowDiskTest::strings,
      rows -> rows.repartition(8, col("h")));

  private static Dataset<Row> strings(SparkSession spark) {
    return spark.range(0, 200_000, 1, 1).selectExpr("id", "xxhash64(id) AS h", "md5(CAST(id AS STRING)) AS t");
  }

  @Test
  void theLastBatchIsEncodedWhileEarlierPartitionsAreWritten() throws Exception {
    assumeTrue(Engine.UNDER_TEST.isSluice(), "the stock manager's writers encode nothing beside a commit");
    Fingerprint expected = Query.onStock(List.of(QUERY)).get(QUERY.name());
    Path folder = Files.createDirectories(SparkApplication.workDir().resolve("slow-disk"));
    Path control = Files.write(folder.resolve("calls"), ByteBuffer.allocate(CONTROL_BYTES)
        .order(ByteOrder.nativeOrder()).putInt(DELAY_AT, DELAY_MICROS).array());
    try (SparkApplication application = SparkApplication.on(Engine.UNDER_TEST)
        .master("local-cluster[1,2,1024]")
        .set("spark.executorEnv.LD_PRELOAD", library(folder).toString())
        .set("spark.executorEnv.SOAK_CALLS", control.toString())
        .set("spark.sluice.writer.threads", "1")
        .set("spark.sluice.writer.batchBytes", "64m")
        // A map output is a file on the disk.
        .set("spark.sluice.mode", "MULTITHREADED")
        .start()
        .awaitExecutors(1)) {
      for (int round = 0; round < ROUNDS; round++) {
        assertEquals(expected, QUERY.run(application.session()));
      }
      var counters = ProcessCounters.ofExecutors(application.context());
      assertTrue(counters.get(Counter.WRITE_COMMITS_BESIDE) > 0, counters::toString);
      assertTrue(counters.get(Counter.WRITE_BESIDE_NANOS) >= DELAY_MICROS * 1_000L,
          () -> "no slow write had an encode beside it: " + counters);
    } finally {
      ShuffleFiles.deleteTree(folder);
    }
  }

  private static Path library(Path folder) throws IOException, InterruptedException {
    Path library = folder.resolve("calls.so");
    try {
      Process compiler = new ProcessBuilder("cc", "-shared", "-fPIC", "-O1", "-D_LARGEFILE64_SOURCE", "-o",
          library.toString(), CALLS.toString(), "-ldl", "-lpthread").inheritIO().start();
      assertTrue(compiler.waitFor(1, TimeUnit.MINUTES), "the compiler has not ended within a minute");
      assertEquals(0, compiler.exitValue(), "the compiler's exit status");
    } catch (IOException e) {
      abort("no C compiler: " + e.getMessage());
    }
    return library;
  }
}
