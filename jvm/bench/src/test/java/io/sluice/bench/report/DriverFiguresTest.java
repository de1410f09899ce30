package io.sluice.bench.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.bench.check.Digest;
import io.sluice.bench.protocol.DriverCosts;
import io.sluice.bench.protocol.Json;
import io.sluice.bench.protocol.RunMetrics;
import io.sluice.bench.run.Engine;
import io.sluice.bench.run.Measurement;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class DriverFiguresTest {

  private static RunMetrics run(double wallS, DriverCosts driver) {
    return new RunMetrics(wallS, 1, 1, 1, 0, 1, 0, 0, 1, 0, List.of(), null, null).with(driver);
  }

  private static List<BenchResult> results(DriverCosts stock, DriverCosts... sluice) {
    Digest digest = new Digest(10, 1, 1, true);
    Environment environment = new Environment("./sluice bench driver", "abc", "2026-11-27T10:00:00Z", "C", 2, 1, "17",
        "local[2]", Map.of(), 8, 0, null, null);
    return BenchResult.of("many-shuffles", "4.2.0", 10_000, List.of(
        new Measurement(Engine.STOCK, digest, List.of(run(8, stock))),
        new Measurement(Engine.SLUICE, digest, Arrays.stream(sluice).map(driver -> run(10, driver)).toList())),
        environment);
  }

  @Test
  void figuresAreMediansAndGoalsAreStocks() {
    String text = DriverFigures.markdown(results(new DriverCosts(10_000, 2_048_000, 4_096_000, 2),
        new DriverCosts(10_000, 2_048_000, 1_024, 1), new DriverCosts(10_000, 2_048_000, 5_120_000, 1.5),
        new DriverCosts(10_000, 2_048_000, 99_999_999, 9)));
    List<String> lines = text.lines().toList();
    assertTrue(lines.contains("| `many-shuffles`: as many shuffles as rows, for the driver | sluice | 10,000 | 10.0 "
        + "| 1.5 | 2,000.0 | 5,000.0 |"), text);
    assertTrue(lines.contains("| `many-shuffles` | time, s | **1.250** | 1.000 | not met |"), text);
    assertTrue(lines.contains("| `many-shuffles` | CPU of the driver, s | **0.750** | 1.000 | met |"), text);
    assertTrue(lines.contains("| `many-shuffles` | map statuses, KiB | **1.000** | 1.000 | met |"), text);
    assertTrue(lines.contains("| `many-shuffles` | heap of the driver, KiB | **1.250** | 1.000 | not met |"), text);
  }

  @Test
  void aHeapThatHasNotGrownOnStockIsNoReference() {
    String text = DriverFigures.markdown(results(new DriverCosts(1, 10, -5, 2), new DriverCosts(1, 10, 5, 2)));
    assertTrue(!text.contains("| `many-shuffles` | heap"), text);
  }

  @Test
  void otherWorkloadsHaveNone() {
    List<BenchResult> none = results(null, (DriverCosts) null);
    assertEquals("", DriverFigures.render(none));
    assertTrue(!Json.pretty(none).contains("\"driver\""));
    assertTrue(DriverFigures.render(results(new DriverCosts(3, 1_024, 2_048, 2), new DriverCosts(3, 1_024, 2_048, 2)))
        .lines().map(line -> line.replaceAll(" +", " ")).toList().contains("many-shuffles sluice 3 10.0 2.0 1.0 2.0"));
  }
}
