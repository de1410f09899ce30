package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.metrics.Counter;
import java.util.Map;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.junit.jupiter.api.Test;

/** Sluice's frames in memory, moved by UCX, with the smallest memory limit there is. */
class UcxFaultsTest extends OneSidedFaults {
  private static final long ROWS = 200_000;
  private static final int REDUCERS = 20;

  @Override
  Map<String, String> settings() {
    return Map.of("spark.sluice.mode", "UCX", "spark.sluice.memory.limit", "16m");
  }

  /** 50 MB in rows of letters and digits without a pattern: each executor's half is more than its limit. */
  @Test
  void aShuffleLargerThanTheMemory() {
    Dataset<Row> texts = application().session().range(0, ROWS, 1, 4)
        .selectExpr("id", "sha2(CAST(id AS STRING), 512) AS text", "sha2(CAST(-id AS STRING), 512) AS more");
    Fingerprint expected = Fingerprint.of(texts).unordered();
    long spills = counted(Counter.WRITE_SPILLS);
    JavaRDD<InternalRow> rows = Plans.rows(texts.repartition(REDUCERS, col("id")));
    OneSidedReads.await(application(), () -> assertEquals(expected, Fingerprint.of(rows).unordered()));
    assertTrue(counted(Counter.WRITE_SPILLS) > spills, "nothing was spilled");
    assertEquals(0, counted(Counter.MEMORY_TIMEOUTS));
  }

  private long counted(Counter counter) {
    return ProcessCounters.ofExecutors(application().context()).get(counter);
  }
}
