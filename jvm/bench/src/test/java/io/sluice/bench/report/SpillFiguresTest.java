package io.sluice.bench.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.bench.catalogue.Catalogue;
import io.sluice.bench.check.Digest;
import io.sluice.bench.protocol.Json;
import io.sluice.bench.protocol.RunMetrics;
import io.sluice.bench.run.Engine;
import io.sluice.bench.run.Measurement;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SpillFiguresTest {

  @TempDir private Path folder;

  private static RunMetrics run(double wallS, long spilledMb, long failed) {
    return new RunMetrics(wallS, 50_000_000, 1, 1, 1_000_000 * spilledMb, 1, 0, failed, 1, 0, List.of(), null, null);
  }

  private static List<BenchResult> results(long rows, RunMetrics stock, RunMetrics sluice) {
    Digest digest = new Digest(10, 1, 1, true);
    Environment environment = new Environment("./sluice bench spilling --rows " + rows, "abc", "2026-11-27T10:00:00Z",
        "C", 2, 1, "17", "local[2]", Map.of(), 8, 8, null, null);
    return BenchResult.of("spill-wide", "4.2.0", rows, List.of(
        new Measurement(Engine.STOCK, digest, List.of(stock)),
        new Measurement(Engine.SLUICE, digest, List.of(sluice))), environment);
  }

  private static List<BenchResult> three() {
    List<BenchResult> all = new ArrayList<>(results(10_000_000, run(20, 400, 0), run(10, 200, 0)));
    all.addAll(results(50_000_000, run(100, 2_000, 0), run(40, 1_200, 0)));
    all.addAll(results(200_000_000, run(400, 8_000, 2), run(250, 9_000, 1)));
    return all;
  }

  @Test
  void spilledBytesAreBesideStocksAndFailedTasksAreSaid() {
    List<String> lines = SpillFigures.render(three()).lines().toList();
    assertTrue(lines.contains("| `spill-wide` | 10 M | sluice | 10.0 s | **2.00** | 200 MB | 0.50 | 50 MB | 1.00 "
        + "| 0 |"),
        lines.toString());
    assertTrue(lines.contains("| `spill-wide` | 200 M | stock | 400.0 s |  | 8,000 MB |  | 50 MB |  | 2 |"),
        lines.toString());
  }

  @Test
  void theGoalIsTheLeadWithTheFewestRows() {
    List<String> lines = SpillFigures.render(three()).lines().toList();
    assertTrue(lines.contains("| `spill-wide` | 50 M | **2.50** | 2.00 | met |"), lines.toString());
    assertTrue(lines.contains("| `spill-wide` | 200 M | **1.60** | 2.00 | not met |"), lines.toString());
    assertEquals(2, lines.stream().filter(line -> line.contains("met |")).count());
  }

  @Test
  void partsThatWereNotMeasuredAreNamed() throws IOException {
    String page = "<!-- figures: spilling (x) -->\n\n<!-- end of figures -->";
    String none = new PublishedFigures(folder).rewritten(page);
    assertTrue(none.contains("\nNot measured yet: `./sluice figures --only spilling-10m,spilling-50m,spilling-200m`."),
        none);
    Path file = folder.resolve(FigurePart.SPILLING_50M.file());
    Files.createDirectories(file.getParent());
    Files.writeString(file, Json.pretty(results(50_000_000, run(100, 2_000, 0), run(40, 1_200, 0))));
    String one = new PublishedFigures(folder).rewritten(page);
    assertTrue(one.contains("| `spill-wide` | 50 M | sluice | 40.0 s | **2.50** |"), one);
    assertTrue(one.contains("\n\nNot measured yet: `./sluice figures --only spilling-10m,spilling-200m`.\n"), one);
  }

  @Test
  void memoryIsATenthOfTheRowsDividedAmongTwoExecutors() {
    Map<String, String> large = Catalogue.find("spill-wide-rdd").settings(200_000_000);
    assertEquals(Map.of("spark.memory.fraction", "0.2511", "spark.sluice.memory.limit", "953m"), large);
    // Less than Spark and Sluice can do with is never asked for, nor more than Spark's default.
    assertEquals("16m", Catalogue.find("spill-narrow").settings(1_000).get("spark.sluice.memory.limit"));
    assertEquals("0.6000", Catalogue.find("spill-wide").settings(2_000_000_000).get("spark.memory.fraction"));
    assertFalse(Catalogue.entries().stream().anyMatch(entry -> entry.name().startsWith("spill-")));
  }
}
