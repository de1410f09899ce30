package io.sluice.bench.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.bench.check.Digest;
import io.sluice.bench.protocol.DriverCosts;
import io.sluice.bench.protocol.RunMetrics;
import io.sluice.bench.protocol.StageCosts;
import io.sluice.bench.protocol.StageMetrics;
import io.sluice.bench.run.Engine;
import io.sluice.bench.run.Hosts;
import io.sluice.bench.run.Measurement;
import io.sluice.bench.scale.EngineCosts;
import io.sluice.bench.scale.HostKind;
import io.sluice.bench.scale.ScaleModel;
import io.sluice.bench.scale.Shuffle;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The model's costs are those that results were made with, and what it says of a run is what they add up to. */
class ScaleFiguresTest {

  private static final Digest DIGEST = new Digest(10, 1, 1, true);
  private static final int MAPS = 8;
  private static final int MANY = 1_000;
  private static final long ROWS = 100_000_000;
  private static final double READ_BYTES = 1e9;
  /** What every engine is made with: seconds and bytes. */
  private static final EngineCosts TRUE =
      new EngineCosts("stock", 100e-9, 2e-6, 50e-9, 3e-6, 5e-3, 1e-9, 4e-6, 20, 30, 1e-3, 1.5);

  private static BenchResult result(String workload, long rows, Hosts hosts, Engine engine, RunMetrics run) {
    Environment environment = new Environment("./sluice bench " + workload, "abc", "2026-11-28T10:00:00Z", "C", 2, 1,
        "17", "local-cluster[2,1,4096]", Map.of(), MAPS, 0, null, hosts);
    return BenchResult.of(workload, "4.2.0", rows, List.of(new Measurement(engine, DIGEST, List.of(run))), environment)
        .get(0);
  }

  private static List<StageMetrics> stages(long maps, long partitions, double mapCpuS, double reduceCpuS, long bytes) {
    return List.of(new StageMetrics("map", maps, 1, mapCpuS, 0, 0, 0, bytes, 0, 0),
        new StageMetrics("reduce", partitions, 1, reduceCpuS, 0, 0, 0, 0, bytes, 0));
  }

  private static BenchResult growth(String workload, Engine engine, int partitions) {
    double blocks = new Shuffle(ROWS, MAPS, partitions).blocks();
    double map = ROWS * TRUE.mapRow() + blocks * TRUE.mapBlock();
    double reduce = ROWS * TRUE.reduceRow() + partitions * (TRUE.task() + MAPS * TRUE.reduceBlock());
    long bytes = Math.round(ROWS * TRUE.rowBytes() + blocks * TRUE.blockBytes());
    List<StageCosts> costs = List.of(
        new StageCosts("map", true, ROWS, map, 0, 0, 0, 0, 0, 0, 0, 0, 0.0, 0, 0),
        new StageCosts("reduce", false, ROWS, reduce, 0, 0, 0, 0, 0, 0, 0, 0, 0.0, 0, 0));
    return result(workload + "-to-" + partitions, ROWS, null, engine, new RunMetrics(1, bytes, bytes, ROWS, 0, 1, 0, 0,
        map + reduce, 0, stages(MAPS, partitions, map, reduce, bytes), costs, null));
  }

  /** @param remote whether blocks of the other executor come by the network */
  private static BenchResult manyBlocks(Engine engine, boolean remote) {
    double blocks = new Shuffle((double) MANY * MANY, MANY, MANY).blocks();
    double map = 2;
    double reduce = MANY * (TRUE.task() + MANY * TRUE.reduceBlock());
    double transfers = remote ? 0.5 * blocks * TRUE.remoteBlock() : 0;
    DriverCosts driver = new DriverCosts(1, Math.round(TRUE.statusBytesOfABlock() * MANY * MANY), 0,
        TRUE.driverTask() * 2 * MANY);
    return result("many-blocks", (long) MANY * MANY, null, engine, new RunMetrics(1, 1, 1, 1, 0, 1, 0, 0,
        map + reduce + transfers, 0, stages(MANY, MANY, map, reduce, 1), null, null).with(driver));
  }

  private static BenchResult read(Engine engine) {
    return result("remote-read", 1, null, engine, new RunMetrics(1, 1, (long) READ_BYTES, 1, 0, 1, 0, 0,
        READ_BYTES * TRUE.remoteByte(), 0, stages(1, 1, 1, 1, 1), null, null));
  }

  private static Map<FigurePart, List<BenchResult>> measured() {
    List<BenchResult> growth = new ArrayList<>();
    List<BenchResult> driver = new ArrayList<>();
    for (Engine engine : List.of(Engine.STOCK, Engine.SLUICE)) {
      for (String workload : ScaleFigures.WORKLOADS) {
        for (int partitions : new int[] {10, 200, 2_000, 10_000}) {
          growth.add(growth(workload, engine, partitions));
        }
      }
      driver.add(manyBlocks(engine, false));
    }
    Map<FigurePart, List<BenchResult>> all = new EnumMap<>(FigurePart.class);
    all.put(FigurePart.PARTITIONS, growth);
    all.put(FigurePart.DRIVER, driver);
    all.put(FigurePart.REMOTE_BLOCKS, List.of(manyBlocks(Engine.STOCK, true), manyBlocks(Engine.SLUICE, true),
        manyBlocks(Engine.SLUICE_UCX, true)));
    all.put(FigurePart.READS, List.of(read(Engine.STOCK), read(Engine.SLUICE_UCX)));
    return all;
  }

  private static List<BenchResult> of(Map<FigurePart, List<BenchResult>> results, FigurePart part) {
    return results.getOrDefault(part, List.of());
  }

  @Test
  void costsAreThoseThatTheResultsWereMadeWith() {
    Map<FigurePart, List<BenchResult>> results = measured();
    CostsOfResults costs = new CostsOfResults(part -> of(results, part));
    List<EngineCosts> engines = costs.ofEngines("terasort");
    assertEquals(List.of("stock", "sluice", "sluice-ucx"), engines.stream().map(EngineCosts::name).toList());
    for (EngineCosts engine : engines) {
      assertNear(TRUE.mapRow(), engine.mapRow(), engine);
      assertNear(TRUE.mapBlock(), engine.mapBlock(), engine);
      assertNear(TRUE.reduceRow(), engine.reduceRow(), engine);
      assertNear(TRUE.reduceBlock(), engine.reduceBlock(), engine);
      assertNear(TRUE.task(), engine.task(), engine);
      assertNear(TRUE.remoteByte(), engine.remoteByte(), engine);
      assertNear(TRUE.remoteBlock(), engine.remoteBlock(), engine);
      assertNear(TRUE.rowBytes(), engine.rowBytes(), engine);
      assertNear(TRUE.blockBytes(), engine.blockBytes(), engine);
      assertNear(TRUE.driverTask(), engine.driverTask(), engine);
      assertNear(TRUE.statusBytesOfABlock(), engine.statusBytesOfABlock(), engine);
    }
    assertTrue(costs.mostOff() < 1e-3, () -> "" + costs.mostOff());
  }

  private static void assertNear(double expected, double found, EngineCosts engine) {
    assertEquals(1, found / expected, 0.01, engine::toString);
  }

  @Test
  void aRunIsPredictedByItsHostsLinksAndTasks() {
    Map<FigurePart, List<BenchResult>> results = measured();
    Shuffle shuffle = new Shuffle(ROWS, MAPS, 200);
    double predicted = ScaleModel.predict(TRUE, HostKind.withoutDisks("", 2.0 / 3, 100e6 / 8), 3, shuffle).totalS();
    results.put(FigurePart.NETWORKS_100MBIT, List.of(result("terasort", ROWS, Hosts.parse("3", "100mbit", null, null),
        Engine.STOCK, new RunMetrics(2 * predicted, 1, 1, 1, 0, 1, 0, 0, 1, 0, stages(MAPS, 200, 1, 1, 1), null,
            null))));
    String text = ScaleFigures.errors(part -> of(results, part));
    assertTrue(text.contains("| 3, 100mbit | `terasort` | stock | "), text);
    assertTrue(text.contains(" | -50 % |  |  |"), text);
    assertTrue(text.contains("Off by 50 % on average, by 50 % at most."), text);
  }

  @Test
  void clustersHaveATableAndAPicture() {
    Map<FigurePart, List<BenchResult>> results = measured();
    String text = ScaleFigures.clusters(part -> of(results, part));
    assertEquals(2 * ScaleFigures.WORKLOADS.size() * 4 * 3,
        text.lines().filter(line -> line.startsWith("| `")).count());
    // All engines cost the same here.
    assertTrue(text.contains("| **1.00** |") && !text.contains("| **1.01** |"), text);
    String picture = ScaleFigures.picture(part -> of(results, part), "terasort");
    assertTrue(picture.startsWith("<svg") && picture.contains("sluice-ucx") && picture.contains("100 Gbit/s"), picture);
  }

  @Test
  void withoutAPartThereIsNothingToPredictWith() {
    Map<FigurePart, List<BenchResult>> results = measured();
    results.remove(FigurePart.READS);
    assertEquals(List.of(FigurePart.READS), ScaleFigures.missing(part -> of(results, part)));
    assertEquals("", ScaleFigures.picture(part -> of(results, part), "terasort"));
  }
}
