package io.sluice.bench.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.bench.protocol.RunMetrics;
import io.sluice.bench.protocol.StageCosts;
import io.sluice.bench.check.Digest;
import io.sluice.bench.run.Engine;
import io.sluice.bench.run.Measurement;
import java.util.List;
import org.junit.jupiter.api.Test;

class AccountingTextTest {

  private static RunMetrics run(double factor) {
    StageCosts map = new StageCosts("map", true, 1_000_000, 0.1 * factor, 0.02 * factor, 0, 0.3, 0.001, 0, 0.004, 0.5);
    StageCosts reduce = new StageCosts("reduce", false, 0, 1, 0, 0, 0, 0, 0, 0, 0);
    return new RunMetrics(1, 1, 1, 10, 0, 1, 0, 0, 1, 0, List.of(), List.of(map, reduce));
  }

  @Test
  void meansOfTheRunsAreNanosecondsARow() {
    Measurement measurement =
        new Measurement(Engine.SLUICE, new Digest(10, 0, 0, true), List.of(run(1), run(3)));
    List<BenchResult> results = BenchResult.of("sort", "4.2.0", 10, List.of(measurement), null);
    List<String> lines = List.of(AccountingText.render(results).split("\n"));
    String map = lines.get(lines.size() - 2);
    assertEquals("sort sluice writes 1,000,000 200.0 40.0 0.0 300.0 1.0 0.0 4.0 545.0 500.0",
        map.replaceAll(" +", " "));
    assertTrue(lines.get(lines.size() - 1).contains("neither"), lines::toString);
  }
}
