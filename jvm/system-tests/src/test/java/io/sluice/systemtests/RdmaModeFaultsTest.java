package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.junit.jupiter.api.Test;

/** Spark's formats, read by UCX, on executors with the limits of a container if this user can set these. */
class RdmaModeFaultsTest extends OneSidedFaults {
  private static final long ROWS = 100_000;
  private static final long SHARED_BYTES = 64 << 20;
  private static final long LOCKED_BYTES = 64 << 10;

  private boolean confined;

  @Override
  Map<String, String> settings() throws IOException {
    Map<String, String> settings = new HashMap<>(Map.of("spark.sluice.mode", "RDMA"));
    confined = ConfinedJava.isPossible();
    if (confined) {
      settings.put("spark.executorEnv.JAVA_HOME",
          ConfinedJava.install(SparkApplication.workDir().resolve("confined-java")).toString());
    }
    return settings;
  }

  /** UCX works, because its TCP transport needs neither locked nor shared memory. */
  @Test
  void littleLockedMemoryAndNoFreeSharedMemory() {
    assumeTrue(confined, "confining executors needs root, unshare, setpriv and prlimit");
    ExecutorSurvey.ask(application().context(), ConfinedJava.Limits::ofThisProcess).forEach((id, limits) -> {
      assertEquals(Long.toString(LOCKED_BYTES), limits.lockedBytes());
      assertFalse(limits.mayLockMore(), limits::toString);
      assertEquals(SHARED_BYTES, limits.sharedBytes());
      assertEquals(0, limits.freeSharedBytes());
    });
    Dataset<Row> texts = application().session().range(0, ROWS, 1, 4)
        .selectExpr("id", "sha2(CAST(id AS STRING), 512) AS text");
    Fingerprint expected = Fingerprint.of(texts).unordered();
    JavaRDD<InternalRow> rows = Plans.rows(texts.repartition(8, col("id")));
    OneSidedReads.await(application(), () -> assertEquals(expected, Fingerprint.of(rows).unordered()));
  }

  @InAll
  @Test
  void readersThatAreLateForFilesThatWereDeleted() throws Exception {
    readersThatAreLateForARemovedShuffle();
  }
}
