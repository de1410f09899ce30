package io.sluice.bench.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.bench.check.Digest;
import io.sluice.bench.protocol.ProcessCosts;
import io.sluice.bench.protocol.RunMetrics;
import io.sluice.bench.run.Engine;
import io.sluice.bench.run.Master;
import io.sluice.bench.run.Measurement;
import io.sluice.bench.run.Site;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Tables of other projects' engines, from results that are made up. */
class PeerFiguresTest {

  private static final long ROWS = 1_000_000;
  private static final Digest DIGEST = new Digest(ROWS, 0xABCDL, 0x1234L, true);
  private static final Environment ENVIRONMENT = Environment.here(List.of("bench", "tpch"),
      Site.of(Master.parse("local[2]", 1)), Map.of(), 1, 0, 2.0);

  @Test
  void aProjectOnSluiceStandsBesideStockAndBesideTheProjectAlone() {
    List<BenchResult> results = new ArrayList<>(results("tpch-q1", run(Engine.STOCK, 8, 1000, 10),
        run(Engine.COMET, 4, 800, 6), run(Engine.COMET_SLUICE, 2, 200, 3)));
    results.addAll(results("tpch-q2", run(Engine.STOCK, 9, 1000, 10), run(Engine.COMET, 4, 1200, 6),
        run(Engine.COMET_SLUICE, 4.5, 300, 6)));
    // Comet has no result of it, so it counts for no engine.
    results.addAll(results("tpch-q3", run(Engine.STOCK, 100, 1000, 10)));
    String text = PeerFigures.queries(results);
    // Of 8/4 and 9/4.
    assertTrue(text.contains("| comet | 2 | 8.0 s | **2.12** | 2.00 | 2.25 | 0 MB | 12.0 s |"), text);
    // Of 4/2 and 4/4.5.
    assertTrue(text.contains("`comet+sluice` beside `comet`: 1.23 times as fast over all, geometric mean of the ratios "
        + "**1.33**, lowest 0.89 (`tpch-q2`); 0.25 of its shuffle bytes, 0.75 of the CPU of all processes."), text);
    assertTrue(text.contains("\n| query | stock | comet | comet+sluice |\n| --- | --- | --- | --- |\n"
        + "| `tpch-q1` | 8.0 s | 2.00 | 4.00 |\n| `tpch-q2` | 9.0 s | 2.25 | 2.00 |\n"), text);
    assertFalse(text.contains("tpch-q3"), text);
  }

  @Test
  void aProjectThatStandsAloneHasNoGain() {
    String text = PeerFigures.queries(results("tpch-q1", run(Engine.STOCK, 8, 1000, 10), run(Engine.COMET, 4, 800, 6)));
    assertFalse(text.contains("beside"), text);
    assertTrue(text.contains("| `tpch-q1` | 8.0 s | 2.00 |\n"), text);
    assertTrue(PeerFigures.queries(results("tpch-q1", run(Engine.COMET, 4, 800, 6)))
        .startsWith("No query has results of every engine.\n\nSpark 3.5.8, "), text);
  }

  @Test
  void theExchangeIsWhatIsMoreThanTheScan() {
    List<BenchResult> results = new ArrayList<>(results("tpch-scan", run(Engine.STOCK, 2, 0, 3.2),
        run(Engine.COMET, 1, 0, 1)));
    results.addAll(results("tpch-exchange", run(Engine.STOCK, 10, 50 * ROWS, 19.2),
        run(Engine.COMET, 5, 40 * ROWS, 9)));
    String text = PeerFigures.exchange(results);
    assertTrue(text.contains("\n| stock | 2.0 s | 10.0 s | 8.0 s | 16.0 s | 16000 | 1000.0 | 50.0 |\n"
        + "| comet | 1.0 s | 5.0 s | 4.0 s | 8.0 s | 8000 | 500.0 | 40.0 |\n"), text);
    assertTrue(BenchmarkSummary.of(Comparison.of(results)).isEmpty(), "they are no queries of TPC-H");
    IllegalArgumentException missing = assertThrows(IllegalArgumentException.class,
        () -> PeerFigures.exchange(results.subList(0, 2)));
    assertEquals("the results have no tpch-exchange", missing.getMessage());
  }

  private static List<BenchResult> results(String workload, Measurement... measurements) {
    return BenchResult.of(workload, "3.5.8", ROWS, Stream.of(measurements).toList(), ENVIRONMENT);
  }

  private static Measurement run(Engine engine, double wallS, long bytes, double cpuS) {
    ProcessCosts all = new ProcessCosts(cpuS, 0, 1, 1, 1L);
    return new Measurement(engine, DIGEST, List.of(
        new RunMetrics(wallS, bytes, bytes, 10, 0, cpuS, 0, 0, cpuS, 0, List.of(), null, all)));
  }
}
