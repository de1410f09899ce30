package io.sluice.bench.report;

import io.sluice.bench.catalogue.Catalogue;
import io.sluice.bench.protocol.DriverCosts;
import io.sluice.bench.protocol.ProcessCosts;
import io.sluice.bench.protocol.RunMetrics;
import io.sluice.bench.protocol.StageCosts;
import io.sluice.bench.protocol.StageMetrics;
import io.sluice.bench.run.Engine;
import io.sluice.bench.run.Measurement;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.ToDoubleFunction;
import java.util.stream.IntStream;

/**
 * One object of the JSON report: one workload on one engine. The figures of Spark's task metrics are medians
 * over the counted runs; component names are the JSON's in camel case.
 *
 * @param runsS wall seconds of every counted run, in order
 * @param ratioVsStock stock's median over this one's: above 1 is faster than stock; null without stock
 * @param cpuS seconds of CPU of the task threads (Spark's task metric)
 * @param records rows of the result
 * @param sluiceFallbacks shuffles of one run that Sluice left to Spark
 * @param processCpuS seconds of CPU of the executor processes with all their threads
 * @param ordered whether the result has the order that the workload asks for
 * @param executorRunS seconds that tasks ran on executors, added over tasks; 0 in results of before it was recorded
 * @param shuffleWriteS the part of it in which map output was written
 * @param fetchWaitS the part of it in which tasks waited for remote blocks
 * @param stages the same by stage, each figure a median; of more than 100, those of one name added up; null in results
 *     of before they were recorded
 * @param ratioVsOld the engine sluice-old's median over this one's: above 1 is faster than the older build; null
 *     without that engine
 * @param costs the executors' CPU by stage and kind of thread, means over the runs; null unless asked for
 * @param firstRatio of a workload that was measured again because Sluice was below its floor: {@code ratioVsStock} of
 *     the first measurement, which this one replaces; else null
 * @param processes what driver, executors and servers took together, each figure a median; null in results of before it
 *     was recorded
 * @param driver what the shuffles of a run cost the driver, each figure a median; of workloads that are there for that,
 *     else null
 * @param startS seconds until an application was up, for workloads of which every run has a new one; else null
 */
public record BenchResult(String workload, String engine, String spark, long rows, List<Double> runsS, double medianS,
    Double ratioVsStock, long shuffleWriteBytes, long shuffleReadBytes, long spilledBytes, double cpuS, double gcS,
    long records, String checksum, long sluiceFallbacks, double processCpuS, long shuffleRecords, long failedTasks,
    boolean ordered, double executorRunS, double shuffleWriteS, double fetchWaitS, List<StageMetrics> stages,
    Double ratioVsOld, Double startS, List<StageCosts> costs, Double firstRatio, ProcessCosts processes,
    DriverCosts driver, Environment environment) {

  private static final int MOST_STAGES = 100;

  /** The results of one workload, one per measurement. */
  public static List<BenchResult> of(String workload, String spark, long rows, List<Measurement> measurements,
      Environment environment) {
    return of(workload, spark, rows, measurements, environment, List.of());
  }

  /** The same of a workload that was measured again; {@code first} are the results that these replace. */
  public static List<BenchResult> of(String workload, String spark, long rows, List<Measurement> measurements,
      Environment environment, List<BenchResult> first) {
    Optional<Double> stock = medianS(measurements, Engine.STOCK);
    Optional<Double> old = medianS(measurements, Engine.SLUICE_OLD);
    return measurements.stream().map(one -> of(workload, spark, rows, one, stock, old,
        first.stream().filter(result -> result.engine().equals(one.engine().label())).findFirst(), environment))
        .toList();
  }

  private static Optional<Double> medianS(List<Measurement> measurements, Engine engine) {
    return measurements.stream().filter(one -> one.engine() == engine).findFirst()
        .map(one -> median(one, RunMetrics::wallS));
  }

  private static BenchResult of(String workload, String spark, long rows, Measurement one, Optional<Double> stock,
      Optional<Double> old, Optional<BenchResult> first, Environment environment) {
    double medianS = median(one, RunMetrics::wallS);
    return new BenchResult(workload, one.engine().label(), spark, rows,
        one.runs().stream().map(run -> rounded(run.wallS())).toList(), rounded(medianS),
        stock.map(seconds -> rounded(seconds / medianS)).orElse(null),
        count(one, RunMetrics::shuffleWriteBytes), count(one, RunMetrics::shuffleReadBytes),
        count(one, RunMetrics::spilledBytes), rounded(median(one, RunMetrics::cpuS)),
        rounded(median(one, RunMetrics::gcS)), one.digest().rows(), one.digest().checksum(),
        count(one, RunMetrics::sluiceFallbacks), rounded(median(one, RunMetrics::processCpuS)),
        count(one, RunMetrics::shuffleRecords), count(one, RunMetrics::failedTasks), one.digest().ordered(),
        rounded(median(one, RunMetrics::executorRunS)), rounded(median(one, RunMetrics::shuffleWriteS)),
        rounded(median(one, RunMetrics::fetchWaitS)), stages(one.runs()),
        old.map(seconds -> rounded(seconds / medianS)).orElse(null),
        one.startsS().isEmpty() ? null : rounded(Statistics.of(one.startsS(), Double::doubleValue).median()),
        costs(one.runs()), first.map(BenchResult::ratioVsStock).orElse(null), processes(one.runs()),
        driver(one.runs()), environment);
  }

  /** How many times as fast as stock Sluice has to be in this workload; 0 where that is not asked. */
  public double floor() {
    return Engine.SLUICE.label().equals(engine) && Catalogue.isKnown(workload) ? Catalogue.find(workload).floor() : 0;
  }

  /** Whether Sluice is slower than it may be. */
  public boolean belowFloor() {
    return ratioVsStock != null && ratioVsStock < floor();
  }

  /**
   * Medians of the stages at the same place of every run. Runs of one workload have the same stages unless some
   * were retried; those that not every run has are left out.
   */
  private static List<StageMetrics> stages(List<RunMetrics> measured) {
    List<List<StageMetrics>> runs = measured.stream().map(run -> addedUpIfMany(run.stages())).toList();
    int common = runs.stream().mapToInt(List::size).min().orElse(0);
    return IntStream.range(0, common)
        .mapToObj(place -> stage(runs.stream().map(stages -> stages.get(place)).toList())).toList();
  }

  /** Of workloads with so many jobs that nobody would read their stages, those of one name are one. */
  private static List<StageMetrics> addedUpIfMany(List<StageMetrics> stages) {
    if (stages.size() <= MOST_STAGES) {
      return stages;
    }
    Map<String, StageMetrics> byName = new LinkedHashMap<>();
    stages.forEach(stage -> byName.merge(stage.name(), stage, StageMetrics::plus));
    return List.copyOf(byName.values());
  }

  private static StageMetrics stage(List<StageMetrics> runs) {
    ToDoubleFunction<ToDoubleFunction<StageMetrics>> median = figure -> Statistics.of(runs, figure).median();
    return new StageMetrics(runs.get(0).name(), Math.round(median.applyAsDouble(StageMetrics::tasks)),
        rounded(median.applyAsDouble(StageMetrics::runS)), rounded(median.applyAsDouble(StageMetrics::cpuS)),
        rounded(median.applyAsDouble(StageMetrics::writeS)), rounded(median.applyAsDouble(StageMetrics::fetchWaitS)),
        rounded(median.applyAsDouble(StageMetrics::gcS)),
        Math.round(median.applyAsDouble(StageMetrics::shuffleWriteBytes)),
        Math.round(median.applyAsDouble(StageMetrics::shuffleReadBytes)),
        Math.round(median.applyAsDouble(StageMetrics::peakTaskMemoryBytes)));
  }

  private static ProcessCosts processes(List<RunMetrics> runs) {
    List<ProcessCosts> all = runs.stream().map(RunMetrics::processes).filter(Objects::nonNull).toList();
    if (all.isEmpty()) {
      return null;
    }
    ToDoubleFunction<ToDoubleFunction<ProcessCosts>> median = figure -> Statistics.of(all, figure).median();
    boolean loopback = all.stream().allMatch(one -> one.loopbackBytes() != null);
    return new ProcessCosts(rounded(median.applyAsDouble(ProcessCosts::cpuS)),
        rounded(median.applyAsDouble(ProcessCosts::serversCpuS)),
        Math.round(median.applyAsDouble(ProcessCosts::peakRssBytes)),
        Math.round(median.applyAsDouble(ProcessCosts::writtenBytes)),
        loopback ? Math.round(median.applyAsDouble(ProcessCosts::loopbackBytes)) : null);
  }

  private static DriverCosts driver(List<RunMetrics> runs) {
    List<DriverCosts> all = runs.stream().map(RunMetrics::driver).filter(Objects::nonNull).toList();
    if (all.isEmpty()) {
      return null;
    }
    ToDoubleFunction<ToDoubleFunction<DriverCosts>> median = figure -> Statistics.of(all, figure).median();
    return new DriverCosts((int) Math.round(median.applyAsDouble(DriverCosts::shuffles)),
        Math.round(median.applyAsDouble(DriverCosts::statusBytes)),
        Math.round(median.applyAsDouble(DriverCosts::heapBytes)), rounded(median.applyAsDouble(DriverCosts::cpuS)));
  }

  /** Means of the stages at the same place of every run. */
  private static List<StageCosts> costs(List<RunMetrics> runs) {
    if (runs.stream().anyMatch(run -> run.costs() == null)) {
      return null;
    }
    int common = runs.stream().mapToInt(run -> run.costs().size()).min().orElse(0);
    return IntStream.range(0, common)
        .mapToObj(place -> cost(runs.stream().map(run -> run.costs().get(place)).toList())).toList();
  }

  private static StageCosts cost(List<StageCosts> runs) {
    ToDoubleFunction<ToDoubleFunction<StageCosts>> mean =
        figure -> rounded(runs.stream().mapToDouble(figure).average().orElse(0));
    return new StageCosts(runs.get(0).name(), runs.get(0).writes(), runs.get(0).rows(),
        mean.applyAsDouble(StageCosts::taskS), mean.applyAsDouble(StageCosts::encoderS),
        mean.applyAsDouble(StageCosts::decoderS), mean.applyAsDouble(StageCosts::commitS),
        mean.applyAsDouble(StageCosts::jitS), mean.applyAsDouble(StageCosts::gcS),
        mean.applyAsDouble(StageCosts::otherS), mean.applyAsDouble(StageCosts::kernelS),
        mean.applyAsDouble(StageCosts::waitS),
        runs.stream().anyMatch(run -> run.waitCoreS() == null) ? null : mean.applyAsDouble(StageCosts::waitCoreS),
        mean.applyAsDouble(StageCosts::waitFetchS), mean.applyAsDouble(StageCosts::waitGcS));
  }

  private static double median(Measurement one, ToDoubleFunction<RunMetrics> figure) {
    return Statistics.of(one.runs(), figure).median();
  }

  private static long count(Measurement one, ToDoubleFunction<RunMetrics> figure) {
    return Math.round(median(one, figure));
  }

  /** Milliseconds are as fine as a run can be repeated. */
  private static double rounded(double value) {
    return Math.round(value * 1000) / 1000.0;
  }
}
