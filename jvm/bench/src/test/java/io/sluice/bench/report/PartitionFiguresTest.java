package io.sluice.bench.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.bench.check.Digest;
import io.sluice.bench.protocol.RunMetrics;
import io.sluice.bench.protocol.StageCosts;
import io.sluice.bench.protocol.StageMetrics;
import io.sluice.bench.run.Engine;
import io.sluice.bench.run.Measurement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class PartitionFiguresTest {

  private static final long MIB = 1024 * 1024;

  /** A million rows; every cost is {@code factor} times that of a factor of 1. */
  private static RunMetrics run(double factor, boolean accounting, long taskMiB) {
    StageCosts map = new StageCosts("map", true, 1_000_000, 0.1 * factor, 0.02 * factor, 0, 0.01 * factor, 0, 0, 0, 0,
        0, 0.0, 0, 0);
    StageCosts reduce = new StageCosts("reduce", false, 1_000_000, 0.1, 0, 0.005 * factor, 0, 0, 0, 0, 0, 0, 0.0, 0, 0);
    List<StageMetrics> stages = List.of(new StageMetrics("map", 8, 1, 1, 0, 0, 0, 1_000, 0, taskMiB * MIB),
        new StageMetrics("reduce", 8, 1, 1, 0, 0, 0, 0, 1_000, 900 * MIB));
    return new RunMetrics(2 * factor, Math.round(30_000_000 * factor), 1, 1_000_000, 0, 1, 0, 0, 0.4 * factor, 0,
        stages, accounting ? List.of(map, reduce) : null, null);
  }

  private static List<BenchResult> results(int partitions, double stock, double sluice, long sluicesMiB,
      boolean accounting) {
    Digest digest = new Digest(10, 1, 1, true);
    Environment environment = new Environment("./sluice bench partitions", "abc", "2026-11-27T10:00:00Z", "C", 2, 1,
        "17", "local[2]", Map.of(), 8, partitions, null, null);
    return BenchResult.of("terasort-to-" + partitions, "4.2.0", 1_000_000, List.of(
        new Measurement(Engine.STOCK, digest, List.of(run(stock, accounting, 64))),
        new Measurement(Engine.SLUICE, digest, List.of(run(sluice, accounting, sluicesMiB)))), environment);
  }

  private static String rendered(boolean accounting) {
    List<BenchResult> all = new ArrayList<>(results(200, 2, 1, 32, accounting));
    all.addAll(results(10_000, 8, 1.2, 64, accounting));
    return PartitionFigures.render(all);
  }

  @Test
  void everyNumberOfPartitionsHasItsCostsARowOnEveryEngine() {
    List<String> lines = rendered(true).lines().toList();
    assertTrue(lines.contains("| `terasort` | 200 | sluice | 2,000.0 | 400.0 | 130.0 | 30.0 | 5.0 | 30.0 | 32.0 |"),
        lines.toString());
    assertTrue(lines.contains("| `terasort` | 10,000 | stock | 16,000.0 | 3,200.0 | 1,040.0 | 240.0 | 40.0 | 240.0 "
        + "| 64.0 |"), lines.toString());
  }

  @Test
  void whatGrowsBeyondItsGoalIsSaidNotToMeetIt() {
    List<String> lines = rendered(true).lines().toList();
    assertTrue(lines.contains("| `terasort` | encoding and writing, ns a row | 30.0 | 36.0 | **1.20** | 1.5 | met "
        + "| 4.00 |"), lines.toString());
    assertTrue(lines.contains("| `terasort` | peak memory of a map task, MiB | 32.0 | 64.0 | **2.00** | 1.1 | not met "
        + "| 1.00 |"), lines.toString());
    assertEquals(7, lines.stream().filter(line -> line.contains(" met |")).count());
  }

  @Test
  void withoutAccountingWhatOnlyThatTellsIsLeftOut() {
    String text = rendered(false);
    assertTrue(text.contains("| `terasort` | 200 | sluice | 2,000.0 | 400.0 |  |  |  | 30.0 | 32.0 |"), text);
    assertFalse(text.contains("| `terasort` | decoding"), text);
  }

  @Test
  void nothingIsComparedWithANumberThatWasNotMeasured() {
    String text = PartitionFigures.render(results(200, 2, 1, 32, true));
    assertFalse(text.contains(" met |"), text);
  }
}
