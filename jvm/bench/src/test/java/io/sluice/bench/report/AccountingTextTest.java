package io.sluice.bench.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.bench.protocol.Json;
import io.sluice.bench.protocol.RunMetrics;
import io.sluice.bench.protocol.StageCosts;
import io.sluice.bench.check.Digest;
import io.sluice.bench.run.Engine;
import io.sluice.bench.run.Measurement;
import java.util.List;
import org.junit.jupiter.api.Test;

class AccountingTextTest {

  private static RunMetrics run(double factor, Double coreS) {
    StageCosts map = new StageCosts("map", true, 1_000_000, 0.1 * factor, 0.02 * factor, 0.001, 0.002, 0.3, 0.001, 0,
        0.004, 0.5, coreS, 0.05, 0.01);
    StageCosts reduce = new StageCosts("reduce", false, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0.0, 0, 0);
    return new RunMetrics(1, 1, 1, 10, 0, 1, 0, 0, 1, 0, List.of(), List.of(map, reduce), null);
  }

  private static List<BenchResult> results(RunMetrics... runs) {
    Measurement measurement = new Measurement(Engine.SLUICE, new Digest(10, 0, 0, true), List.of(runs));
    return BenchResult.of("sort", "4.2.0", 10, List.of(measurement), null);
  }

  private static List<String> rows(List<BenchResult> results) {
    return AccountingText.render(results).lines().filter(line -> line.startsWith("sort"))
        .map(line -> line.replaceAll(" +", " ")).toList();
  }

  @Test
  void meansOfTheRunsAreNanosecondsARow() {
    List<String> rows = rows(results(run(1, 0.1), run(3, 0.3)));
    assertEquals(4, rows.size(), rows::toString);
    assertEquals("sort sluice writes 1,000,000 200.0 40.0 1.0 2.0 300.0 1.0 0.0 544.0 4.0", rows.get(0));
    assertTrue(rows.get(1).startsWith("sort sluice neither 0 -"), rows::toString);
    assertEquals("sort sluice writes 1,000,000 500.0 200.0 10.0 50.0 240.0", rows.get(2));
  }

  @Test
  void whatIsNotKnownOfOneRunIsNotKnown() {
    List<String> rows = rows(results(run(1, 0.1), run(1, null)));
    assertEquals("sort sluice writes 1,000,000 500.0 - 10.0 50.0 -", rows.get(2));
  }

  /** The driver's process sends them as JSON. */
  @Test
  void costsPassThroughJson() {
    for (RunMetrics run : List.of(run(1, 0.1), run(1, null))) {
      assertEquals(run, Json.parse(Json.line(run), RunMetrics.class));
    }
  }
}
