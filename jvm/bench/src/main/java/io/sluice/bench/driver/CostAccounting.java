package io.sluice.bench.driver;

import io.sluice.bench.protocol.StageCosts;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import java.util.function.Supplier;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerStageCompleted;

/**
 * Divides the executors' CPU among the stages of a run: what was spent since the stage before ended is the stage's. So
 * it is for stages that run one after the other; of stages that run at once, the last to end has the cost of all.
 * Called by Spark's listener thread and the driver's; synchronized.
 */
final class CostAccounting extends SparkListener {

  /** The application's setting that asks for it. */
  static final String SETTING = "spark.sluicebench.accounting";

  private final Supplier<Stream<ProcessHandle>> executors;
  private final List<StageCosts> costs = new ArrayList<>();
  private ThreadCpu before;

  CostAccounting(Supplier<Stream<ProcessHandle>> executors) {
    this.executors = executors;
  }

  /** A run begins. */
  synchronized void reset() {
    costs.clear();
    before = ThreadCpu.of(executors.get());
  }

  /** Of the stages that have ended, in the order in which they did. */
  synchronized List<StageCosts> costs() {
    return List.copyOf(costs);
  }

  @Override
  public synchronized void onStageCompleted(SparkListenerStageCompleted event) {
    ThreadCpu now = ThreadCpu.of(executors.get());
    if (before != null) {
      costs.add(costs(event.stageInfo().name(), event.stageInfo().taskMetrics(), now));
    }
    before = now;
  }

  private StageCosts costs(String name, TaskMetrics tasks, ThreadCpu now) {
    long written = tasks.shuffleWriteMetrics().recordsWritten();
    double taskS = now.userSince(before, ThreadRole.TASK);
    double waitS = tasks.executorRunTime() / 1e3 - taskS - now.taskKernelSince(before);
    return new StageCosts(name, written > 0, written > 0 ? written : tasks.shuffleReadMetrics().recordsRead(), taskS,
        now.userSince(before, ThreadRole.ENCODER), now.userSince(before, ThreadRole.DECODER),
        now.userSince(before, ThreadRole.JIT), now.userSince(before, ThreadRole.GC),
        now.userSince(before, ThreadRole.OTHER), now.kernelSince(before), Math.max(0, waitS));
  }
}
