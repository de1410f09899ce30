package io.sluice.bench.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.sluice.bench.check.Digest;
import io.sluice.bench.protocol.Json;
import io.sluice.bench.protocol.ProcessCosts;
import io.sluice.bench.protocol.RunMetrics;
import io.sluice.bench.protocol.StageMetrics;
import io.sluice.bench.run.Engine;
import io.sluice.bench.run.Master;
import io.sluice.bench.run.Measurement;
import io.sluice.bench.run.Site;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class BenchResultTest {

  private static final ProcessCosts COSTS = new ProcessCosts(7, 2, 3_000_000, 4_000_000, 5_000_000L);

  private static final Digest DIGEST = new Digest(10, 0xABCDL, 0x1234L, true);
  private static final Environment ENVIRONMENT =
      Environment.here(List.of("bench", "sort"), Site.of(Master.parse("local[2]", 1)), Map.of(), 8, 0, null);

  @Test
  void figuresAreMediansAndTheRatioIsStockOverThisEngine() {
    List<BenchResult> results = results(
        new Measurement(Engine.STOCK, DIGEST, List.of(run(9, 900, 3), run(8, 800, 2), run(10, 700, 1))),
        new Measurement(Engine.SLUICE, DIGEST, List.of(run(5, 100, 1), run(4, 300, 2), run(3, 200, 9))));
    assertEquals(9, results.get(0).medianS());
    assertEquals(1, results.get(0).ratioVsStock());
    assertEquals(4, results.get(1).medianS());
    assertEquals(2.25, results.get(1).ratioVsStock());
    assertEquals(200, results.get(1).shuffleWriteBytes());
    assertEquals(2, results.get(1).cpuS());
    assertEquals(List.of(5.0, 4.0, 3.0), results.get(1).runsS());
  }

  @Test
  void stagesAreMediansByPlace() {
    BenchResult result = results(
        new Measurement(Engine.STOCK, DIGEST, List.of(run(8, 900, 3), run(16, 800, 2), run(4, 700, 1)))).get(0);
    assertEquals(List.of(new StageMetrics("map", 4, 8, 4, 1, 0.5, 0, 800, 0, 8_000),
        new StageMetrics("reduce", 4, 16, 8, 2, 1, 0, 0, 800, 16_000)), result.stages());
    assertEquals(24, result.executorRunS());
    assertEquals(3, result.shuffleWriteS());
    assertEquals(1.5, result.fetchWaitS());
  }

  @Test
  void moreThanAHundredStagesAreAddedUpByName() {
    List<StageMetrics> hundred = Collections.nCopies(50, List.of(stage("map", 2, 8, 0), stage("reduce", 1, 0, 8)))
        .stream().flatMap(List::stream).toList();
    List<StageMetrics> more = new ArrayList<>(hundred);
    more.add(stage("map", 4, 80, 0));
    assertEquals(100, stagesOf(hundred).size());
    assertEquals(List.of(new StageMetrics("map", 204, 104, 52, 13, 6.5, 0, 480, 0, 4_000),
        new StageMetrics("reduce", 200, 50, 25, 6.25, 3.125, 0, 0, 400, 1_000)), stagesOf(more));
  }

  private static List<StageMetrics> stagesOf(List<StageMetrics> stages) {
    RunMetrics run = new RunMetrics(1, 0, 0, 10, 0, 1, 0, 0, 1, 0, stages, null, null);
    return results(new Measurement(Engine.STOCK, DIGEST, List.of(run))).get(0).stages();
  }

  @Test
  void whatAllProcessesTookIsMediansToo() {
    ProcessCosts more = new ProcessCosts(9, 3, 3_500_000, 2_000_000, null);
    assertEquals(COSTS, results(new Measurement(Engine.CELEBORN, DIGEST, List.of(run(5, 1, 1), run(6, 1, 1)))).get(0)
        .processes());
    assertEquals(new ProcessCosts(8, 2.5, 3_250_000, 3_000_000, null), results(new Measurement(Engine.CELEBORN, DIGEST,
        List.of(run(5, 1, 1), new RunMetrics(1, 0, 0, 10, 0, 1, 0, 0, 1, 0, List.of(), null, more)))).get(0)
        .processes());
    assertNull(results(new Measurement(Engine.STOCK, DIGEST,
        List.of(new RunMetrics(1, 0, 0, 10, 0, 1, 0, 0, 1, 0, List.of(), null, null)))).get(0).processes());
  }

  @Test
  void withoutStockThereIsNoRatio() {
    BenchResult only = results(new Measurement(Engine.SLUICE, DIGEST, List.of(run(5, 1, 1)))).get(0);
    assertNull(only.ratioVsStock());
    assertFalse(Json.pretty(only).contains("ratio_vs_stock"));
  }

  @Test
  void jsonHasTheDocumentedFields() {
    List<BenchResult> results = results(new Measurement(Engine.STOCK, DIGEST, List.of(run(5, 1, 1))));
    JsonObject object = JsonParser.parseString(Json.pretty(results)).getAsJsonArray().get(0).getAsJsonObject();
    for (String field : List.of("workload", "engine", "spark", "rows", "runs_s", "median_s", "ratio_vs_stock",
        "shuffle_write_bytes", "shuffle_read_bytes", "spilled_bytes", "cpu_s", "gc_s", "records", "checksum",
        "sluice_fallbacks", "process_cpu_s", "executor_run_s", "shuffle_write_s",
        "fetch_wait_s", "stages", "environment")) {
      assertTrue(object.has(field), field);
    }
    assertEquals("sort", object.get("workload").getAsString());
    assertEquals("stock", object.get("engine").getAsString());
    assertEquals(5.0, object.getAsJsonArray("runs_s").get(0).getAsDouble());
    assertEquals("10:000000000000abcd:0000000000001234", object.get("checksum").getAsString());
    assertEquals("local[2]", object.getAsJsonObject("environment").get("master").getAsString());
  }

  @Test
  void equalSortedResultsHaveNoFaults() {
    assertEquals(List.of(), Verdict.faults(results(measured(Engine.STOCK, DIGEST), measured(Engine.SLUICE, DIGEST))));
  }

  @Test
  void aDifferingChecksumIsAFaultThatNamesWorkloadAndEngine() {
    Digest other = new Digest(10, 0xABCEL, 0x1234L, true);
    List<String> faults = Verdict.faults(results(measured(Engine.STOCK, DIGEST), measured(Engine.SLUICE, other)));
    assertEquals(1, faults.size());
    assertTrue(faults.get(0).startsWith("sort: the result of sluice"), faults.get(0));
  }

  @Test
  void aResultOutOfOrderIsAFaultEvenIfItsContentIsRight() {
    Digest unordered = new Digest(10, 0xABCDL, 0x1234L, false);
    List<String> faults = Verdict.faults(results(measured(Engine.STOCK, DIGEST), measured(Engine.SLUICE, unordered)));
    assertEquals(List.of("sort: the result of sluice is not sorted"), faults);
  }

  @Test
  void anEngineThatIsWrongOnPurposeIsNoFaultAndNoReference() {
    Digest other = new Digest(9, 0xABCEL, 0x1234L, false);
    assertEquals(List.of(), Verdict.faults(results(measured(Engine.NO_NETWORK, other), measured(Engine.STOCK, DIGEST),
        measured(Engine.SLUICE, DIGEST))));
  }

  @Test
  void thePotentialIsThatOfStockWithoutItsNetwork() {
    List<Comparison> comparisons = Comparison.of(results(
        new Measurement(Engine.STOCK, DIGEST, List.of(run(12, 1, 1))),
        new Measurement(Engine.NO_NETWORK, DIGEST, List.of(run(10, 1, 1))),
        new Measurement(Engine.SLUICE, DIGEST, List.of(run(6, 1, 1)))));
    String text = PotentialText.render(comparisons);
    assertTrue(text.startsWith("sort: a network that costs nothing would make stock 1.20 times as fast; "
        + "Sluice is 2.00 times as fast."), text);
  }

  @Test
  void anOlderBuildIsComparedRunByRun() {
    List<BenchResult> results = results(
        new Measurement(Engine.SLUICE_OLD, DIGEST, List.of(run(9, 1, 8), run(6, 1, 8), run(10, 1, 8))),
        new Measurement(Engine.SLUICE, DIGEST, List.of(run(3, 1, 4), run(6, 1, 4), run(5, 1, 4))));
    assertEquals(1.8, results.get(1).ratioVsOld());
    String text = BuildsText.render(Comparison.of(results)).orElseThrow();
    assertTrue(text.lines().map(line -> line.replaceAll(" +", " ")).toList()
        .contains("sort 9.00 5.00 1.80 2.00 8.00 4.00 2.00 0.0 0.0 yes"), text);
    assertTrue(text.endsWith("Geometric mean: time 1.80, CPU 2.00."), text);
    assertTrue(BuildsText.render(Comparison.of(results(measured(Engine.SLUICE, DIGEST)))).isEmpty());
  }

  @Test
  void aWorkloadBelowItsFloorIsMarkedOnceOnSluice() {
    List<BenchResult> slower = BenchResult.of("cold-query", "4.2.0", 10, List.of(
        new Measurement(Engine.STOCK, DIGEST, List.of(run(9, 1, 1)), List.of(5.0)),
        new Measurement(Engine.SLUICE, DIGEST, List.of(run(10, 1, 1)), List.of(6.0, 8.0, 7.0))), ENVIRONMENT);
    assertEquals(List.of("cold-query: sluice is 0.90 times as fast as stock, below the floor of 1.00"),
        Verdict.belowFloor(slower));
    assertTrue(BenchTableText.render(slower).contains("1.00 BELOW"));
    assertEquals(7.0, slower.get(1).startS());
    List<BenchResult> equal = results(measured(Engine.STOCK, DIGEST), measured(Engine.SLUICE, DIGEST));
    assertEquals(List.of(), Verdict.belowFloor(equal));
    assertFalse(BenchTableText.render(equal).contains("BELOW"));
    assertNull(equal.get(1).startS());
  }

  @Test
  void aWorkloadMeasuredAgainCountsWithItsLastMeasurement() {
    List<BenchResult> first = BenchResult.of("tpch-q1", "4.2.0", 10, List.of(
        new Measurement(Engine.STOCK, DIGEST, List.of(run(8, 1, 1))),
        new Measurement(Engine.SLUICE, DIGEST, List.of(run(10, 1, 1)))), ENVIRONMENT);
    assertEquals(1, Verdict.belowFloor(first).size());
    List<BenchResult> both = new ArrayList<>(first);
    both.addAll(BenchResult.of("tpch-q1", "4.2.0", 10, List.of(
        new Measurement(Engine.STOCK, DIGEST, List.of(run(9, 1, 1), run(9, 1, 1))),
        new Measurement(Engine.SLUICE, DIGEST, List.of(run(6, 1, 1), run(6, 1, 1)))), ENVIRONMENT, first));
    assertEquals(4, both.size());
    assertEquals(0.8, both.get(3).firstRatio());
    assertEquals(List.of(), Verdict.belowFloor(both));
    List<Comparison> comparisons = Comparison.of(both);
    assertEquals(1, comparisons.size());
    assertEquals("tpch-q1", comparisons.get(0).label());
    assertEquals(1.5, comparisons.get(0).speedup(comparisons.get(0).on("sluice").orElseThrow()).orElseThrow());
    List<String> sentences = BenchmarkSummary.of(comparisons).get(0).sentences();
    assertTrue(sentences.contains("Measured again with more runs, which count, because the first ratio was below its "
        + "floor: q1 (0.80, then 1.50)."), sentences.toString());
    assertFalse(Json.pretty(first).contains("first_ratio"));
  }

  private static Measurement measured(Engine engine, Digest digest) {
    return new Measurement(engine, digest, List.of(run(1, 1, 1)));
  }

  private static List<BenchResult> results(Measurement... measurements) {
    return BenchResult.of("sort", "4.2.0", 10, List.of(measurements), ENVIRONMENT);
  }

  private static StageMetrics stage(String name, double runS, long writeBytes, long readBytes) {
    return new StageMetrics(name, 4, runS, runS / 2, runS / 8, runS / 16, 0, writeBytes, readBytes,
        Math.round(1_000 * runS));
  }

  private static RunMetrics run(double wallS, long writeBytes, double cpuS) {
    return new RunMetrics(wallS, writeBytes, writeBytes, 10, 0, cpuS, 0, 0, cpuS, 0,
        List.of(stage("map", wallS, writeBytes, 0), stage("reduce", 2 * wallS, 0, writeBytes)), null, COSTS);
  }
}
