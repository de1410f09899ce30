package io.sluice.advisor.estimate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.advisor.TestLog;
import io.sluice.advisor.log.EventLog;
import io.sluice.advisor.log.EventLogReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Estimates of stages of every kind, from logs. */
class StageEstimatorTest {
  private static final long T = TestLog.START_MS;

  @TempDir private Path folder;

  @Test
  void rowsOfSqlSaveByRowByteAndSortTime() throws Exception {
    ApplicationEstimate estimate = estimate(TestLog.ofSort("sort"));
    StageEstimate map = estimate.stages().get(0);
    assertEquals(Optional.of(ShuffleKind.SQL_ROWS), map.written());
    assertEquals(64, map.partitions());
    assertEquals(84_000_000, map.bytesWritten());
    double rows = 5_000_000 * Costs.SQL_WRITE_ROW_NS + 200_000_000 * Costs.SQL_WRITE_BYTE_NS;
    assertEquals(rows / 1e9, map.savedS().get(Part.WRITE), 0.01);
    StageEstimate reduce = estimate.stages().get(1);
    assertEquals(20 * 0.9 * Costs.SORT_TIME_PART + 5_000_000 * Costs.SORT_ROW_NS / 1e9, reduce.savedS().get(Part.SORT),
        0.01);
    assertTrue(reduce.savedS().get(Part.READ) > 0.2);
    assertTrue(estimate.speedup() > 1.1 && estimate.speedup() < 2, () -> "" + estimate.speedup());
    assertTrue(estimate.lowestSpeedup() < estimate.speedup() && estimate.speedup() < estimate.highestSpeedup());
  }

  @Test
  void rangesAndRoundRobinSaveMore() throws Exception {
    double hash = written("Exchange hashpartitioning(a#1, 64)");
    assertTrue(written("Exchange rangepartitioning(a#1 ASC NULLS FIRST, 64), ENSURE_REQUIREMENTS") > hash + 0.1);
    assertTrue(written("Exchange RoundRobinPartitioning(64), REPARTITION_BY_NUM") > hash + 0.4);
  }

  private double written(String exchange) throws Exception {
    TestLog log = new TestLog().head("4.2.0", "x");
    log.exchange(0, 38, exchange);
    log.task(0, T, 60_000, 50_000, Map.of("Shuffle Bytes Written", 40_000_000L, "Shuffle Records Written", 1_000_000L));
    log.stageCompleted(0, "map", 1, T, T + 60_000, "[]", 3, "", TestLog.accumulable(38, "data size", 1));
    return estimate(log).stages().get(0).savedS().get(Part.WRITE);
  }

  @Test
  void recordsOfRddsAreToldByTheirOperation() throws Exception {
    StageEstimate sorted = reduceOf("ShuffledRDD", "sortByKey");
    StageEstimate grouped = reduceOf("ShuffledRDD", "groupByKey");
    StageEstimate moved = reduceOf("CoGroupedRDD", "cogroup");
    assertEquals(Optional.of(ShuffleKind.RDD_RECORDS), moved.read());
    assertEquals(Costs.RDD_SORT_RECORD_NS / 1e3, sorted.savedS().get(Part.SORT), 0.01);
    assertEquals(Costs.RDD_COMBINE_RECORD_NS / 1e3, grouped.savedS().get(Part.COMBINE), 0.01);
    assertFalse(moved.savedS().containsKey(Part.SORT) || moved.savedS().containsKey(Part.COMBINE));
  }

  private StageEstimate reduceOf(String rdd, String operation) throws Exception {
    TestLog log = new TestLog().head("4.2.0", "x");
    log.task(1, T, 60_000, 50_000, Map.of("Local Bytes Read", 40_000_000L, "Total Records Read", 1_000_000L));
    log.stageCompleted(1, "reduce", 1, T, T + 60_000, "[0]", 9, TestLog.rdd(8, rdd, operation, "[3]", 64), "");
    return estimate(log).stages().get(0);
  }

  @Test
  void combiningInMapTasksSavesAPartOfTheStage() throws Exception {
    TestLog log = new TestLog().head("3.5.8", "x");
    log.task(0, T, 10_000, 10_000, Map.of("Shuffle Bytes Written", 1_000L, "Shuffle Records Written", 100_000L));
    log.stageCompleted(0, "map", 1, T, T + 10_000, "[]", 3, "", "");
    log.task(1, T + 10_000, 1_000, 1_000, Map.of("Local Bytes Read", 1_000L, "Total Records Read", 100_000L));
    log.stageCompleted(1, "reduce", 1, T + 10_000, T + 11_000, "[0]", 9,
        TestLog.rdd(8, "ShuffledRDD", "reduceByKey", "[3]", 4), "");
    StageEstimate map = estimate(log).stages().get(0);
    assertEquals(10 * Costs.MAP_COMBINE_PART, map.savedInAllS(), 0.2);
    assertEquals(4, map.partitions());
    assertEquals(Set.of(1), map.readers());
  }

  @Test
  void smallBlocksAndShortStagesSaveLittle() throws Exception {
    TestLog log = new TestLog().head("4.2.0", "x");
    log.exchange(0, 38, "Exchange hashpartitioning(a#1, 2000)");
    log.task(0, T, 2_000, 1_000, Map.of("Shuffle Bytes Written", 20_000_000L, "Shuffle Records Written", 4_000L));
    log.stageCompleted(0, "map", 1, T, T + 2_000, "[]", 3, "", TestLog.accumulable(38, "data size", 1));
    StageEstimate map = estimate(log).stages().get(0);
    assertEquals(2, map.rowsPerBlock());
    assertTrue(map.savedS().get(Part.WRITE) < 0.02, () -> "" + map.savedS());
  }

  @Test
  void noMoreThanAPartOfTheCpuIsSaved() throws Exception {
    TestLog log = new TestLog().head("4.2.0", "x");
    log.task(1, T, 1_000, 900, Map.of("Local Bytes Read", 1_000_000_000L, "Total Records Read", 90_000_000L));
    log.stageCompleted(1, "reduce", 1, T, T + 1_000, "[0]", 9, TestLog.shuffledRows(3), "");
    StageEstimate reduce = estimate(log).stages().get(0);
    assertEquals(0.9 * Costs.MOST_OF_CPU, reduce.savedS().get(Part.READ), 0.001);
    assertTrue(reduce.ratio() > 0.1 && reduce.runS() > 0);
  }

  @Test
  void shufflesThatSparkKeepsSaveNothing() throws Exception {
    for (Map<String, String> settings : List.of(
        Map.of("spark.io.encryption.enabled", "true", "spark.shuffle.useOldFetchProtocol", "true"),
        Map.of("spark.io.compression.codec", "org.apache.spark.io.LZFCompressionCodec"),
        Map.of("spark.shuffle.sort.io.plugin.class", "com.example.Io"),
        Map.of("spark.shuffle.checksum.algorithm", "SHA-256"))) {
      ApplicationEstimate estimate = estimateWith(settings);
      assertEquals(1, estimate.speedup(), 1e-9);
      assertEquals(1, estimate.obstacles().size(), settings::toString);
      assertTrue(Advice.of(estimate).settings().isEmpty());
    }
    assertTrue(estimateWith(Map.of("spark.io.compression.codec", "org.apache.spark.io.ZStdCompressionCodec"))
        .speedup() > 1.05);
  }

  @Test
  void logsOfSluiceAreKnown() throws Exception {
    ApplicationEstimate estimate =
        estimateWith(Map.of("spark.shuffle.manager", "io.sluice.spark.SluiceShuffleManager"));
    assertTrue(estimate.onSluice());
    assertEquals(1, estimate.speedup(), 1e-9);
  }

  @Test
  void doubtsLowerTheConfidence() throws Exception {
    assertEquals(Confidence.Level.HIGH, estimate(TestLog.ofSort("sure")).confidence().level());
    Confidence zstd = estimateWith(Map.of("spark.io.compression.codec", "zstd")).confidence();
    assertEquals(Confidence.Level.FAIR, zstd.level());
    assertEquals(List.of("The codec is zstd; the constants were measured with lz4."), zstd.doubts());
    Confidence foreign = estimateWith(Map.of("spark.shuffle.manager", "org.example.Remote")).confidence();
    assertEquals(Confidence.Level.LOW, foreign.level());
    Confidence old = estimate(new TestLog().head("2.4.8", "old")).confidence();
    assertTrue(old.doubts().toString().contains("does not run on Spark 2.4.8"), old::toString);
  }

  private ApplicationEstimate estimateWith(Map<String, String> settings) throws Exception {
    StringBuilder properties = new StringBuilder();
    settings.forEach((key, value) -> properties.append(",\"").append(key).append("\":\"").append(value).append('"'));
    String text = TestLog.ofSort("x").text().replace("\"Spark Properties\":{",
        "\"Spark Properties\":{\"spark.master\":\"yarn\"" + properties);
    return estimate(text);
  }

  private ApplicationEstimate estimate(TestLog log) throws Exception {
    return estimate(log.text());
  }

  private ApplicationEstimate estimate(String log) throws Exception {
    Path file = Files.writeString(folder.resolve("log"), log);
    return ApplicationEstimate.of(EventLogReader.read(new EventLog(file, List.of(file), true), count -> {}));
  }
}
