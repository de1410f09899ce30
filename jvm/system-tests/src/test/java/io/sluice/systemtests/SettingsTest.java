package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.metrics.Counter;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Every setting that changes how rows are written and read gives the same results, and no shuffle falls back. */
class SettingsTest {
  private static final List<Query> QUERIES = List.of(
      Query.moving("all types", spark -> Tables.allTypes(spark, 5000, 3), rows -> rows.repartition(11, col("id"))),
      Query.ordered("sort", spark -> Tables.events(spark, 60_000, 3).orderBy("k", "id")));

  private static Map<String, Fingerprint> expected;

  static List<Map<String, String>> settings() {
    return List.of(
        Map.of("spark.shuffle.compress", "false"),
        Map.of("spark.io.compression.codec", "lz4"),
        Map.of("spark.io.compression.codec", "zstd"),
        Map.of("spark.io.compression.codec", "snappy"),
        Map.of("spark.sluice.codec.level", "plain"),
        Map.of("spark.sluice.codec.level", "small"),
        Map.of("spark.sluice.writer.threads", "0", "spark.sluice.reader.threads", "0"),
        Map.of("spark.sluice.writer.threads", "3", "spark.sluice.reader.threads", "3"),
        Map.of("spark.sluice.writer.pageBytes", "64k", "spark.sluice.writer.batchBytes", "1m"),
        Map.of("spark.sluice.reader.maxBytesInFlight", "1m", "spark.sluice.reader.threads", "2"),
        Map.of("spark.memory.offHeap.enabled", "true", "spark.memory.offHeap.size", "64m"),
        Map.of("spark.shuffle.useOldFetchProtocol", "true"),
        Map.of("spark.shuffle.file.buffer", "4k", "spark.reducer.maxSizeInFlight", "64k"),
        Map.of("spark.network.maxRemoteBlockSizeFetchToMem", "1k"),
        Map.of("spark.shuffle.sort.bypassMergeThreshold", "1"));
  }

  @BeforeAll
  static void reference() {
    expected = Query.onStock(QUERIES);
  }

  @VariantsInAll(oneOf = 4)
  @ParameterizedTest
  @MethodSource("settings")
  void everySettingGivesStocksRows(Map<String, String> settings) {
    SparkApplication.Builder builder = SparkApplication.on(Engine.UNDER_TEST).setAll(settings);
    try (SparkApplication application = builder.start()) {
      for (Query query : QUERIES) {
        assertEquals(expected.get(query.name()), query.run(application.session()), query.name());
      }
      if (Engine.writesFrames()) {
        assertEquals(0, ProcessCounters.here(Counter.SHUFFLES_STOCK));
        assertTrue(ProcessCounters.here(Counter.SHUFFLES_ROWS) > 0);
      }
      NativeMemory.assertAllReturned();
    }
  }
}
