package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.metrics.Counter;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Shuffles many times larger than their memory limit: writers spill, readers wait for memory. */
@Tag("once")
class MemoryPressureTest {
  private static final long ROWS = 300_000;
  private static final List<Query> QUERIES = List.of(
      Query.moving("repartition", MemoryPressureTest::texts, rows -> rows.repartition(40, col("id"))),
      Query.ordered("sort", spark -> texts(spark).orderBy("text")));

  private static Map<String, Fingerprint> expected;

  static List<Map<String, String>> limits() {
    return List.of(
        Map.of("spark.sluice.memory.limit", "16m"),
        Map.of("spark.sluice.memory.limit", "16m", "spark.sluice.writer.threads", "4", "spark.sluice.reader.threads",
            "4"),
        Map.of("spark.memory.offHeap.enabled", "true", "spark.memory.offHeap.size", "24m"));
  }

  private static Dataset<Row> texts(SparkSession spark) {
    return spark.range(0, ROWS, 1, 3).selectExpr("id", "sha2(CAST(id AS STRING), 512) AS text",
        "sha2(CAST(-id AS STRING), 512) AS more");
  }

  @BeforeAll
  static void reference() {
    expected = Query.onStock(QUERIES);
  }

  @VariantsInAll
  @ParameterizedTest
  @MethodSource("limits")
  void shufflesLargerThanTheMemoryLimitSpill(Map<String, String> limit) {
    SparkApplication.Builder builder = SparkApplication.on(Engine.UNDER_TEST).setAll(limit);
    try (SparkApplication application = builder.start()) {
      for (Query query : QUERIES) {
        assertEquals(expected.get(query.name()), query.run(application.session()), query.name());
      }
      if (Engine.writesFrames()) {
        assertTrue(ProcessCounters.here(Counter.WRITE_SPILLS) > 0, "nothing was spilled");
        assertEquals(0, ProcessCounters.here(Counter.MEMORY_TIMEOUTS));
      }
      NativeMemory.assertAllReturned();
    }
  }
}
