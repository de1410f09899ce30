package io.sluice.bench.driver;

import io.sluice.bench.protocol.StageCosts;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.scheduler.SparkListenerStageCompleted;

/**
 * Divides the executors' CPU, and the time for which their task threads waited, among the stages of a run: what was
 * spent since the stage before ended is the stage's. So it is for stages that run one after the other; of stages that
 * run at once, the last to end has the cost of all. Called by Spark's listener thread and the driver's; synchronized.
 */
final class CostAccounting extends SparkListener {

  /** The application's setting that asks for it. */
  static final String SETTING = "spark.sluicebench.accounting";

  private static final double MILLIS_PER_SECOND = 1e3;

  private final Supplier<Stream<ProcessHandle>> executors;
  private final List<Ended> ended = new ArrayList<>();
  /** By stage; Sluice's event of a stage comes after Spark's. */
  private final Map<Integer, InTaskCpu> inTasks = new HashMap<>();
  private ThreadCpu before;
  /** Spark only logs what a listener throws. */
  private RuntimeException failure;

  private record Ended(int stageId, StageCosts costs) {}

  CostAccounting(Supplier<Stream<ProcessHandle>> executors) {
    this.executors = executors;
  }

  /** A run begins. */
  synchronized void reset() {
    ended.clear();
    inTasks.clear();
    before = ThreadCpu.of(executors.get());
  }

  /** Of the stages that have ended, in the order in which they did. */
  synchronized List<StageCosts> costs() {
    if (failure != null) {
      throw failure;
    }
    List<StageCosts> costs = new ArrayList<>();
    Map<Integer, InTaskCpu> left = new HashMap<>(inTasks);
    for (Ended stage : ended) {
      // Of a stage that ran again, the first attempt has it.
      InTaskCpu inTask = left.remove(stage.stageId());
      costs.add(inTask == null ? stage.costs()
          : stage.costs().withInTask(inTask.encodeS(), inTask.decodeS(), inTask.commitS()));
    }
    return costs;
  }

  @Override
  public synchronized void onStageCompleted(SparkListenerStageCompleted event) {
    ThreadCpu now = ThreadCpu.of(executors.get());
    if (before != null) {
      ended.add(new Ended(event.stageInfo().stageId(),
          costs(event.stageInfo().name(), event.stageInfo().taskMetrics(), now.since(before))));
    }
    before = now;
  }

  @Override
  public synchronized void onOtherEvent(SparkListenerEvent event) {
    try {
      InTaskCpu.of(event).ifPresent(inTask -> inTasks.merge(inTask.stageId(), inTask, InTaskCpu::plus));
    } catch (RuntimeException e) {
      failure = e;
    }
  }

  /** @param spent by role, by the threads of all executors */
  static StageCosts costs(String name, TaskMetrics tasks, Map<ThreadRole, ThreadTimes> spent) {
    long written = tasks.shuffleWriteMetrics().recordsWritten();
    ThreadTimes task = spent.get(ThreadRole.TASK);
    double runS = (tasks.executorRunTime() + tasks.executorDeserializeTime() + tasks.resultSerializationTime())
        / MILLIS_PER_SECOND;
    // Each of them may be measured a little long, and overlap the one before.
    double waitS = Math.max(0, runS - task.cpuS());
    Double coreS = Double.isNaN(task.coreWaitS()) ? null : (Double) Math.min(task.coreWaitS(), waitS);
    double leftS = coreS == null ? waitS : waitS - coreS;
    double gcS = Math.min(tasks.jvmGCTime() / MILLIS_PER_SECOND, leftS);
    double fetchS = Math.min(tasks.shuffleReadMetrics().fetchWaitTime() / MILLIS_PER_SECOND, leftS - gcS);
    return new StageCosts(name, written > 0, written > 0 ? written : tasks.shuffleReadMetrics().recordsRead(),
        task.cpuS(), spent.get(ThreadRole.ENCODER).cpuS(), spent.get(ThreadRole.DECODER).cpuS(), 0,
        spent.get(ThreadRole.JIT).cpuS(), spent.get(ThreadRole.GC).cpuS(), spent.get(ThreadRole.OTHER).cpuS(),
        spent.values().stream().mapToDouble(ThreadTimes::kernelS).sum(), waitS, coreS, fetchS, gcS);
  }
}
