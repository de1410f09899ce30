package io.sluice.bench.report;

import io.sluice.bench.protocol.StageCosts;
import io.sluice.bench.protocol.StageMetrics;
import io.sluice.bench.run.Engine;
import io.sluice.bench.scale.EngineCosts;
import io.sluice.bench.scale.Fit;
import io.sluice.bench.scale.Shuffle;
import java.util.List;
import java.util.function.Function;
import java.util.function.Predicate;

/**
 * Costs of a workload's rows, blocks and tasks, from results of {@link #PARTS}:
 *
 * <ul>
 * <li>rows and blocks of map tasks, and shuffle bytes: lines of least squares through 10 to 10,000 partitions,
 * <li>blocks of reduce tasks and tasks: what a reduce task takes with the blocks of few map tasks (the same results),
 * and with those of a thousand ({@code many-blocks}),
 * <li>bytes from other hosts: blocks of a MiB read within a job,
 * <li>blocks from other hosts: {@code many-blocks} with and without Spark's short way to blocks on the same host,
 * <li>the driver's: {@code many-blocks}.
 * </ul>
 */
final class CostsOfResults {

  /** What must have been measured. */
  static final List<FigurePart> PARTS =
      List.of(FigurePart.PARTITIONS, FigurePart.DRIVER, FigurePart.REMOTE_BLOCKS, FigurePart.READS);

  private static final String MANY_BLOCKS = "many-blocks";
  /** Of two executors each has half of the map outputs. */
  private static final double REMOTE_OF_TWO = 0.5;

  private final Function<FigurePart, List<BenchResult>> results;

  /** The largest relative error of a line at a measured point. */
  private double mostOff;

  /** @param results of a part; empty if it was not measured */
  CostsOfResults(Function<FigurePart, List<BenchResult>> results) {
    this.results = results;
  }

  double mostOff() {
    return mostOff;
  }

  /** Stock, Sluice whose blocks go by Netty, and Sluice with one-sided reads, all of {@code workload}. */
  List<EngineCosts> ofEngines(String workload) {
    EngineCosts stock = byNetty(Engine.STOCK, workload);
    EngineCosts sluice = byNetty(Engine.SLUICE, workload);
    return List.of(stock, sluice, oneSided(sluice));
  }

  /** {@code costs} with blocks read as Sluice reads them in mode UCX within a machine: a processor copies them. */
  EngineCosts oneSided(EngineCosts costs) {
    return costs.movedBy(Engine.SLUICE_UCX.label(), remoteByte(Engine.SLUICE_UCX),
        remoteBlock(Engine.SLUICE_UCX, Engine.SLUICE));
  }

  private EngineCosts byNetty(Engine engine, String workload) {
    List<BenchResult> growth = results.apply(FigurePart.PARTITIONS).stream()
        .filter(on(engine)).filter(result -> result.workload().startsWith(workload + "-to-")).toList();
    if (growth.size() < 2) {
      throw new IllegalArgumentException(FigurePart.PARTITIONS.file() + " lacks " + workload + " on "
          + engine.label());
    }
    Fit map = line(growth, result -> shuffle(result).blocks(), result -> cpuS(result, true));
    Fit bytes = line(growth, result -> shuffle(result).blocks(), BenchResult::shuffleWriteBytes);
    Fit reduce = line(growth, result -> shuffle(result).partitions(), result -> cpuS(result, false));

    BenchResult many = only(FigurePart.DRIVER, on(engine).and(CostsOfResults::isManyBlocks));
    Shuffle manyBlocks = shuffle(many);
    double maps = shuffle(growth.get(0)).maps();
    double ofAReduceTask = many.processCpuS() * reducePart(many) / manyBlocks.partitions();
    double reduceBlock = Math.max(0, (ofAReduceTask - reduce.b()) / (manyBlocks.maps() - maps));
    double tasks = manyBlocks.maps() + manyBlocks.partitions();
    return new EngineCosts(engine.label(), map.a(), map.b(), reduce.a(), reduceBlock,
        Math.max(0, reduce.b() - maps * reduceBlock), remoteByte(Engine.STOCK), remoteBlock(engine, engine),
        bytes.a(), bytes.b(), many.driver().cpuS() / tasks,
        many.driver().statusBytes() / (manyBlocks.maps() * manyBlocks.partitions()));
  }

  private Fit line(List<BenchResult> growth, Function<BenchResult, ? extends Number> z,
      Function<BenchResult, ? extends Number> y) {
    Fit fit = Fit.of(growth.stream().map(result -> new Fit.Point(result.rows(), z.apply(result).doubleValue(),
        y.apply(result).doubleValue())).toList());
    mostOff = Math.max(mostOff, fit.mostOff());
    return fit;
  }

  /** Seconds of CPU of executors for a byte that is read from another process. */
  private double remoteByte(Engine engine) {
    BenchResult read = only(FigurePart.READS, on(engine));
    return read.processCpuS() / read.shuffleReadBytes();
  }

  /** Seconds of CPU for a block of another executor, beyond those for one of its own. */
  private double remoteBlock(Engine remote, Engine local) {
    BenchResult far = only(FigurePart.REMOTE_BLOCKS, on(remote));
    BenchResult near = only(FigurePart.DRIVER, on(local).and(CostsOfResults::isManyBlocks));
    return Math.max(0, far.processCpuS() - near.processCpuS()) / (REMOTE_OF_TWO * shuffle(near).blocks());
  }

  private BenchResult only(FigurePart part, Predicate<BenchResult> which) {
    return results.apply(part).stream().filter(which).findFirst()
        .orElseThrow(() -> new IllegalArgumentException(part.file() + " lacks a result"));
  }

  private static Predicate<BenchResult> on(Engine engine) {
    return result -> result.engine().equals(engine.label());
  }

  private static boolean isManyBlocks(BenchResult result) {
    return result.workload().equals(MANY_BLOCKS);
  }

  /** Of the executors' CPU in tasks the part in those that read. */
  private static double reducePart(BenchResult result) {
    double all = result.stages().stream().mapToDouble(StageMetrics::cpuS).sum();
    return result.stages().stream().filter(stage -> stage.shuffleReadBytes() > 0)
        .mapToDouble(StageMetrics::cpuS).sum() / all;
  }

  /** Of the stages that write a shuffle, or of those that only read one. */
  private static double cpuS(BenchResult result, boolean writes) {
    return result.costs().stream().filter(stage -> stage.rows() > 0 && stage.writes() == writes)
        .mapToDouble(StageCosts::cpuS).sum();
  }

  /** The one shuffle of {@code result}, by the tasks that wrote and read it. */
  static Shuffle shuffle(BenchResult result) {
    return new Shuffle(result.rows(), tasks(result, StageMetrics::shuffleWriteBytes),
        tasks(result, StageMetrics::shuffleReadBytes));
  }

  private static double tasks(BenchResult result, Function<StageMetrics, Long> bytes) {
    return result.stages().stream().filter(stage -> bytes.apply(stage) > 0).mapToLong(StageMetrics::tasks).max()
        .orElseThrow(() -> new IllegalArgumentException(result.workload() + " has no shuffle"));
  }
}
