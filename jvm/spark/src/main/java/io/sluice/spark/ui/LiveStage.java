package io.sluice.spark.ui;

import io.sluice.spark.events.LongestTasks;
import java.util.concurrent.TimeUnit;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.scheduler.TaskInfo;

import org.apache.spark.Resubmitted$;

/** The tasks of a stage attempt that runs. Its memory does not grow with their number. One thread. */
final class LiveStage {
  private final String stage;
  private int writes;
  private final int planned;
  private final BusyTime busy;
  private final LongestTasks<TaskSpan> longest = new LongestTasks<>();
  private int ended;
  private int failed;
  private long runMillis;
  private long waitMillis;
  private long writeMillis;
  /** When it was written to the store; of the clock of whoever writes it. */
  private long writtenNanos;

  /**
   * @param stage as {@code stage.attempt}
   * @param writes the shuffle that it writes, or {@link StageTimeline#NONE}
   * @param submittedMillis on the driver's clock
   */
  LiveStage(String stage, int writes, int planned, long submittedMillis, long nowNanos) {
    this.stage = stage;
    this.writes = writes;
    this.planned = planned;
    this.busy = new BusyTime(submittedMillis);
    this.writtenNanos = nowNanos;
  }

  /**
   * A task of it has ended. When an executor is lost with the outputs of tasks that succeeded, Spark reports these
   * tasks once more, as resubmitted; they were counted when they ended.
   */
  void add(SparkListenerTaskEnd end) {
    if (Resubmitted$.MODULE$.equals(end.reason())) {
      return;
    }
    TaskInfo info = end.taskInfo();
    TaskMetrics metrics = end.taskMetrics();
    long wait = metrics == null ? 0 : metrics.shuffleReadMetrics().fetchWaitTime();
    long write = metrics == null ? 0
        : TimeUnit.NANOSECONDS.toMillis(metrics.shuffleWriteMetrics().writeTime());
    TaskSpan span = new TaskSpan(info.taskId(), info.index(), info.executorId(), !info.successful(), info.launchTime(),
        info.finishTime(), wait, write, 0, 0);
    ended++;
    failed += span.failed() ? 1 : 0;
    waitMillis += wait;
    writeMillis += write;
    if (BusyTime.isTime(span.launchMillis()) && BusyTime.isTime(span.finishMillis())) {
      runMillis += span.millis();
      busy.add(span.launchMillis(), span.finishMillis());
      longest.add(span.millis(), span.taskId(), span);
    }
  }

  /** It writes a shuffle, of which that was not known before. */
  void writes(int shuffleId) {
    writes = shuffleId;
  }

  long writtenNanos() {
    return writtenNanos;
  }

  /** The stage now, for the store. */
  StageTimeline row(boolean complete, long nowNanos) {
    writtenNanos = nowNanos;
    return new StageTimeline(stage, writes, planned, ended, failed, complete, runMillis, waitMillis, writeMillis,
        busy.startMillis(), busy.stepMillis(), busy.busyMillis(), longest.tasks());
  }
}
