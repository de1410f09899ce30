package io.sluice.advisor.estimate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.advisor.TestLog;
import io.sluice.advisor.log.EventLog;
import io.sluice.advisor.log.EventLogReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Savings of shuffles: what is saved in stages, divided among the shuffles that they write and read. */
class ShuffleEstimateTest {
  private static final long T = TestLog.START_MS;
  private static final double EXACT = 1e-9;

  @TempDir private Path folder;

  @Test
  void shuffleSavesWhereItIsWrittenAndWhereItIsRead() throws Exception {
    ApplicationEstimate estimate = estimate(TestLog.ofSort("sort"));
    assertEquals(1, estimate.shuffles().size());
    ShuffleEstimate shuffle = estimate.shuffles().get(0);
    assertEquals(estimate.stages().get(0).savedInAllS(), shuffle.savedWritingS(), EXACT);
    assertEquals(Map.of(1, estimate.stages().get(1).savedInAllS()), shuffle.savedReadingS());
    assertEquals(estimate.savedS(null), shuffle.savedInAllS(), EXACT);
    assertEquals(Confidence.Level.HIGH, shuffle.confidence().level());
  }

  @Test
  void stageThatReadsSeveralShufflesGivesEachItsPart() throws Exception {
    ApplicationEstimate estimate = estimate(join());
    StageEstimate reader = estimate.stages().get(2);
    assertEquals(2, estimate.shuffles().size());
    assertEquals(reader.savedReadingS() * 0.75, estimate.shuffles().get(0).savedReadingS().get(2), EXACT);
    assertEquals(reader.savedReadingS() * 0.25, estimate.shuffles().get(1).savedReadingS().get(2), EXACT);
    double shuffles = estimate.shuffles().stream().mapToDouble(ShuffleEstimate::savedInAllS).sum();
    assertEquals(estimate.savedS(null), shuffles, EXACT);
  }

  @Test
  void writerIsFoundByItsRddWhereItsStageWasSkipped() throws Exception {
    TestLog log = new TestLog().head("4.2.0", "reused");
    map(log, 0, 3, 1_000_000);
    log.task(5, T, 60_000, 50_000, Map.of("Local Bytes Read", 1_000_000L, "Total Records Read", 1_000_000L));
    log.stageCompleted(5, "reduce", 1, T, T + 60_000, "[4]", 9, TestLog.rdd(8, "ShuffledRDD", "sortByKey", "[3]", 64),
        "");
    assertEquals(Set.of(5), estimate(log).shuffles().get(0).savedReadingS().keySet());
  }

  @Test
  void stageThatReadsAndWritesDividesItsSaving() throws Exception {
    TestLog log = new TestLog().head("4.2.0", "chain");
    log.task(1, T, 60_000, 50_000, Map.of("Local Bytes Read", 1_000_000L, "Total Records Read", 2_000_000L,
        "Shuffle Bytes Written", 1_000_000L, "Shuffle Records Written", 1_000_000L));
    log.stageCompleted(1, "both", 1, T, T + 60_000, "[0]", 9, TestLog.rdd(8, "ShuffledRDD", "partitionBy", "[3]", 64),
        "");
    StageEstimate both = estimate(log).stages().get(0);
    double written = 1e6 * Costs.RDD_WRITE_RECORD_NS + 1e6 * Costs.RDD_WRITE_BYTE_NS;
    double read = 2e6 * Costs.RDD_READ_RECORD_NS + 1e6 * Costs.RDD_READ_BYTE_NS;
    assertEquals(written / (written + read), both.savedWritingS() / both.savedInAllS(), EXACT);
    assertEquals(both.savedInAllS(), both.savedWritingS() + both.savedReadingS(), EXACT);
  }

  @Test
  void reasonsAreTheTermsOfTheSum() throws Exception {
    List<StageEstimate> stages = estimate(TestLog.ofSort("sort")).stages();
    assertEquals(List.of("writing: 5,000,000 rows written at 95 ns = 0.47 s",
        "writing: 200,000,000 bytes written at 3.5 ns = 0.70 s"), stages.get(0).reasons().subList(0, 2));
    assertTrue(stages.get(1).reasons().contains("sorting: 90 % of the CPU in the sort time = 16.20 s"),
        () -> "" + stages.get(1).reasons());
    for (StageEstimate stage : stages) {
      double reasons = stage.reasons().stream()
          .mapToDouble(reason -> Double.parseDouble(reason.replaceAll(".* = ([0-9.]+) s$", "$1"))).sum();
      assertEquals(stage.savedInAllS(), reasons, 0.03, () -> "" + stage.reasons());
    }
  }

  @Test
  void doubtsOfAStageAreItsOwnAndThoseOfTheLogCountToo() throws Exception {
    TestLog log = join();
    log.task(1, T, 60_000, 1_000, Map.of());
    ApplicationEstimate estimate = estimate(log);
    assertEquals(Confidence.Level.FAIR, estimate.stages().get(0).confidence().level());
    assertEquals(List.of(), estimate.stages().get(0).confidence().doubts());
    List<String> doubts = estimate.stages().get(1).confidence().doubts();
    assertTrue(doubts.toString().contains("on a processor for only"), doubts::toString);
    ShuffleEstimate shuffle = estimate.shuffles().get(1);
    assertTrue(shuffle.confidence().doubts().get(0).startsWith("Stage 1: "), shuffle::toString);
    assertEquals(List.of(), estimate.shuffles().get(0).confidence().doubts());
  }

  @Test
  void constantsThatGiveMoreThanAStageHasAreDoubted() throws Exception {
    TestLog log = new TestLog().head("4.2.0", "x");
    log.task(1, T, 6_000, 5_000, Map.of("Local Bytes Read", 1_000_000_000L, "Total Records Read", 90_000_000L));
    log.stageCompleted(1, "reduce", 1, T, T + 10_000, "[0]", 9, TestLog.shuffledRows(3), "");
    StageEstimate reduce = estimate(log).stages().get(0);
    assertTrue(reduce.confidence().doubts().toString().contains("no more than 85 % is taken"), reduce::toString);
    assertTrue(reduce.reasons().contains("all of these: no more than 85 % of the stage's CPU time = 4.25 s"),
        () -> "" + reduce.reasons());
  }

  /** Two stages write 30 and 10 MB, a third one reads both. The log has no end. */
  private static TestLog join() {
    TestLog log = new TestLog().head("4.2.0", "join");
    map(log, 0, 3, 30_000_000);
    map(log, 1, 4, 10_000_000);
    log.task(2, T, 60_000, 50_000, Map.of("Local Bytes Read", 40_000_000L, "Total Records Read", 2_000_000L));
    return log.stageCompleted(2, "join", 1, T, T + 60_000, "[0,1]", 9, TestLog.rdd(8, "CoGroupedRDD", "cogroup",
        "[3,4]", 64), "");
  }

  private static void map(TestLog log, int stage, int rdd, long bytes) {
    log.task(stage, T, 60_000, 50_000, Map.of("Shuffle Bytes Written", bytes, "Shuffle Records Written", 1_000_000L));
    log.stageCompleted(stage, "map", 1, T, T + 60_000, "[]", rdd, "", "");
  }

  private ApplicationEstimate estimate(TestLog log) throws Exception {
    Path file = Files.write(folder.resolve("log"), log.bytes());
    return ApplicationEstimate.of(EventLogReader.read(new EventLog(file, List.of(file), true), count -> {}));
  }
}
