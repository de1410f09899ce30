package io.sluice.bench.driver;

import io.sluice.bench.protocol.ProcessCosts;
import io.sluice.bench.protocol.Reply;
import io.sluice.bench.protocol.RunMetrics;
import io.sluice.bench.protocol.StageCosts;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerStageSubmitted;
import org.apache.spark.scheduler.SparkListenerTaskEnd;

/**
 * Adds up Spark's task metrics since the last {@link #reset}, and reports progress at most ten times a
 * second. Called by Spark's listener thread and the driver's; synchronized.
 */
final class TaskTotals extends SparkListener {

  private static final long PROGRESS_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  private final Consumer<Reply> progress;
  private long reportedNanos;
  private long tasksKnown;
  private long tasksDone;
  private long failedTasks;
  private long writeBytes;
  private long readBytes;
  private long records;
  private long spilledBytes;
  private long cpuNanos;
  private long gcMillis;
  /** By stage id, which ascends as Spark plans stages; attempts of a stage add up. */
  private final SortedMap<Integer, StageTotals> stages = new TreeMap<>();

  TaskTotals(Consumer<Reply> progress) {
    this.progress = progress;
  }

  synchronized void reset() {
    tasksKnown = 0;
    tasksDone = 0;
    failedTasks = 0;
    writeBytes = 0;
    readBytes = 0;
    records = 0;
    spilledBytes = 0;
    cpuNanos = 0;
    gcMillis = 0;
    stages.clear();
  }

  /** The totals so far, with what the caller measured itself. */
  synchronized RunMetrics metrics(double wallS, double processCpuS, long fallbacks, List<StageCosts> costs,
      ProcessCosts processes) {
    return new RunMetrics(wallS, writeBytes, readBytes, records, spilledBytes, cpuNanos / 1e9, gcMillis / 1e3,
        failedTasks, processCpuS, fallbacks,
        stages.values().stream().filter(StageTotals::ran).map(StageTotals::metrics).toList(), costs,
        processes);
  }

  @Override
  public synchronized void onStageSubmitted(SparkListenerStageSubmitted event) {
    tasksKnown += event.stageInfo().numTasks();
    stages.computeIfAbsent(event.stageInfo().stageId(), id -> new StageTotals(event.stageInfo().name()));
    // Each one: HostAbsence tells stages apart by it.
    reportNow();
  }

  @Override
  public synchronized void onTaskEnd(SparkListenerTaskEnd event) {
    tasksDone++;
    if (!event.taskInfo().successful()) {
      failedTasks++;
    }
    if (event.taskMetrics() != null) {
      add(event.taskMetrics());
      // A late task of the job before this one has no stage here.
      if (stages.containsKey(event.stageId())) {
        stages.get(event.stageId()).add(event.taskMetrics());
      }
    }
    report();
  }

  private void add(TaskMetrics task) {
    writeBytes += task.shuffleWriteMetrics().bytesWritten();
    readBytes += task.shuffleReadMetrics().totalBytesRead();
    records += task.shuffleWriteMetrics().recordsWritten();
    spilledBytes += task.diskBytesSpilled();
    cpuNanos += task.executorCpuTime();
    gcMillis += task.jvmGCTime();
  }

  private void report() {
    if (System.nanoTime() - reportedNanos >= PROGRESS_NANOS) {
      reportNow();
    }
  }

  private void reportNow() {
    reportedNanos = System.nanoTime();
    progress.accept(Reply.progress(tasksDone, tasksKnown));
  }
}
