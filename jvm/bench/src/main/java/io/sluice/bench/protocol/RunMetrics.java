package io.sluice.bench.protocol;

import java.util.List;

/**
 * What one run cost.
 *
 * @param wallS seconds from submitting the job to its end, seen by the driver
 * @param shuffleWriteBytes sum of Spark's task metric, like all down to {@code failedTasks}
 * @param shuffleReadBytes local and remote
 * @param shuffleRecords records written to shuffles
 * @param spilledBytes bytes spilled to disk
 * @param cpuS seconds of CPU time of the task threads
 * @param gcS seconds of garbage collection while tasks ran, added over tasks
 * @param failedTasks task attempts that did not succeed
 * @param processCpuS seconds of CPU time of the executor processes, every thread counted: encoder and
 *     decoder pools, JIT and garbage collector too
 * @param sluiceFallbacks shuffles that Sluice left to Spark
 * @param stages the stages that ran tasks, in the order in which Spark planned them
 * @param costs the executors' CPU by stage and kind of thread, if that was asked for; else null
 * @param processes what driver, executors and servers took together
 * @param driver what the run's shuffles cost the driver, of a workload that is there for that; else null
 */
public record RunMetrics(double wallS, long shuffleWriteBytes, long shuffleReadBytes, long shuffleRecords,
    long spilledBytes, double cpuS, double gcS, long failedTasks, double processCpuS, long sluiceFallbacks,
    List<StageMetrics> stages, List<StageCosts> costs, ProcessCosts processes, DriverCosts driver) {

  /** One of a workload that is not there for what the driver keeps. */
  public RunMetrics(double wallS, long shuffleWriteBytes, long shuffleReadBytes, long shuffleRecords,
      long spilledBytes, double cpuS, double gcS, long failedTasks, double processCpuS, long sluiceFallbacks,
      List<StageMetrics> stages, List<StageCosts> costs, ProcessCosts processes) {
    this(wallS, shuffleWriteBytes, shuffleReadBytes, shuffleRecords, spilledBytes, cpuS, gcS, failedTasks, processCpuS,
        sluiceFallbacks, stages, costs, processes, null);
  }

  /** The same with what the driver keeps. */
  public RunMetrics with(DriverCosts costsOfDriver) {
    return new RunMetrics(wallS, shuffleWriteBytes, shuffleReadBytes, shuffleRecords, spilledBytes, cpuS, gcS,
        failedTasks, processCpuS, sluiceFallbacks, stages, costs, processes, costsOfDriver);
  }

  /** Seconds that tasks ran on executors, added over stages, like the next two. */
  public double executorRunS() {
    return stages.stream().mapToDouble(StageMetrics::runS).sum();
  }

  /** Seconds of writing map output. */
  public double shuffleWriteS() {
    return stages.stream().mapToDouble(StageMetrics::writeS).sum();
  }

  /** Seconds of waiting for remote blocks. */
  public double fetchWaitS() {
    return stages.stream().mapToDouble(StageMetrics::fetchWaitS).sum();
  }
}
