package io.sluice.bench.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.bench.check.Digest;
import io.sluice.bench.protocol.RunMetrics;
import io.sluice.bench.run.Engine;
import io.sluice.bench.run.Hosts;
import io.sluice.bench.run.Master;
import io.sluice.bench.run.Measurement;
import io.sluice.bench.run.Site;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The table of networks: goals that follow from what was measured, and what is missing. */
class NetworkFiguresTest {

  private static final Digest DIGEST = new Digest(10, 0xABCDL, 0x1234L, true);

  @Test
  void goalsFollowFromTheBytesFromOneMachineAndFromStock() {
    Map<FigurePart, List<BenchResult>> results = Map.of(
        FigurePart.NETWORKS_ONE_MACHINE, results(null, 8, 4),
        // Half of the bytes: 0.95 of 2.
        FigurePart.NETWORKS_100MBIT, results(Hosts.parse("3", "100mbit", null, null), 19, 10),
        FigurePart.NETWORKS_1GBIT, results(Hosts.parse("3", "1gbit", null, null), 8, 5),
        FigurePart.NETWORKS_10GBIT, results(Hosts.parse("3", "10gbit", null, null), 8, 4.1),
        FigurePart.NETWORKS_LOSS_ONE, results(Hosts.parse("3", "1gbit", null, "1%"), 8, 8.1));
    String table = NetworkFigures.table(part -> results.getOrDefault(part, List.of()));
    assertRow(table, "| one host | `sort` | stock | 8.0 s |  |  |  |  | 0.0 s | 0 |");
    assertRow(table, "| one host | `sort` | sluice | 4.0 s | **2.00** |  |  | 0.50 | 0.0 s | 0 |");
    assertRow(table, "| 100mbit links | `sort` | sluice | 10.0 s | **1.90** | 1.90 | met | 0.50 | 0.0 s | 0 |");
    assertRow(table, "| 1gbit links | `sort` | sluice | 5.0 s | **1.60** |  |  | 0.50 | 0.0 s | 0 |");
    assertRow(table, "| 10gbit links | `sort` | sluice | 4.1 s | **1.95** | 2.00 | not met | 0.50 | 0.0 s | 0 |");
    assertRow(table,
        "| 1gbit links, loss 1% | `sort` | sluice | 8.1 s | **0.99** | 1.00 | not met | 0.50 | 0.0 s | 0 |");
    assertTrue(table.endsWith("\n\nNot measured yet: `./sluice figures --only "
        + "networks-loss-tenth,networks-delay,networks-slow-host,networks-away`."), table);
    assertTrue(table.contains("`local[2]` and 3 hosts on one machine with an executor of 1 core(s) each, medians of 1 "
        + "runs of every engine in turn"), table);
  }

  @Test
  void withoutOneMachinesFiguresTenGigabitsHaveNoGoal() {
    List<BenchResult> only = results(Hosts.parse("3", "10gbit", null, null), 8, 4);
    String table =
        NetworkFigures.table(part -> part == FigurePart.NETWORKS_10GBIT ? only : List.<BenchResult>of());
    assertRow(table, "| 10gbit links | `sort` | sluice | 4.0 s | **2.00** |  |  | 0.50 | 0.0 s | 0 |");
    assertFalse(table.contains("not met"), table);
  }

  @Test
  void withoutAnyFiguresTheWholeGroupIsToBeMeasured() {
    assertEquals("Not measured yet: `./sluice figures --only networks`.", NetworkFigures.table(part -> List.of()));
    assertEquals(FigurePart.NETWORKS, FigurePart.named("networks"));
    assertTrue(FigurePart.BY_DEFAULT.stream().noneMatch(FigurePart.NETWORKS::contains));
  }

  private static void assertRow(String table, String row) {
    assertTrue(table.contains("\n" + row + "\n"), row + "\n" + table);
  }

  private static List<BenchResult> results(Hosts hosts, double stockS, double sluiceS) {
    Site plain = Site.of(Master.parse("local[2]", 1));
    Site site = new Site(plain.master(), hosts, Map.of(), List.of(), null, null, null);
    Environment environment = Environment.here(List.of("bench", "sort"), site, Map.of(), 8, 0, null);
    return BenchResult.of("sort", "4.2.0", 10, List.of(
        new Measurement(Engine.STOCK, DIGEST, List.of(run(stockS, 1000))),
        new Measurement(Engine.SLUICE, DIGEST, List.of(run(sluiceS, 500)))), environment);
  }

  private static RunMetrics run(double wallS, long bytes) {
    return new RunMetrics(wallS, bytes, bytes, 10, 0, 1, 0, 0, 1, 0, List.of(), null, null);
  }
}
