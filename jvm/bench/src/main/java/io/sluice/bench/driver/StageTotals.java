package io.sluice.bench.driver;

import io.sluice.bench.protocol.StageMetrics;
import org.apache.spark.executor.TaskMetrics;

/** Adds up the task metrics of one stage; guarded by its owner. */
final class StageTotals {

  private final String name;
  private long tasks;
  private long runMillis;
  private long cpuNanos;
  private long writeNanos;
  private long fetchWaitMillis;
  private long gcMillis;
  private long writeBytes;
  private long readBytes;
  private long peakMemoryBytes;

  /** Totals of the stage that Spark calls {@code name}. */
  StageTotals(String name) {
    this.name = name;
  }

  void add(TaskMetrics task) {
    tasks++;
    runMillis += task.executorRunTime();
    cpuNanos += task.executorCpuTime();
    writeNanos += task.shuffleWriteMetrics().writeTime();
    fetchWaitMillis += task.shuffleReadMetrics().fetchWaitTime();
    gcMillis += task.jvmGCTime();
    writeBytes += task.shuffleWriteMetrics().bytesWritten();
    readBytes += task.shuffleReadMetrics().totalBytesRead();
    peakMemoryBytes = Math.max(peakMemoryBytes, task.peakExecutionMemory());
  }

  /** Whether a task has ended; stages whose output is there already have none. */
  boolean ran() {
    return tasks > 0;
  }

  StageMetrics metrics() {
    return new StageMetrics(name, tasks, runMillis / 1e3, cpuNanos / 1e9, writeNanos / 1e9, fetchWaitMillis / 1e3,
        gcMillis / 1e3, writeBytes, readBytes, peakMemoryBytes);
  }
}
