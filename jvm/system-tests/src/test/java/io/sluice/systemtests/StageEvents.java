package io.sluice.systemtests;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeoutException;
import org.apache.spark.ExceptionFailure;
import org.apache.spark.FetchFailed;
import org.apache.spark.SparkContext;
import org.apache.spark.TaskKilled;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.apache.spark.scheduler.SparkListenerStageSubmitted;
import org.apache.spark.scheduler.SparkListenerTaskEnd;

/**
 * The scheduler's events: retried stages, fetch failures, killed tasks, lost executors, sums of metrics. Thread-safe.
 */
final class StageEvents extends SparkListener {
  private static final long SETTLE_MILLIS = 30_000;

  private final List<FetchFailed> fetchFailures = new ArrayList<>();
  private final Set<String> removedExecutors = new HashSet<>();
  private int retriedStages;
  private int killedTasks;
  private int failedTasks;
  private int submittedStages;
  private ShuffleTotals totals = ShuffleTotals.ZERO;

  @Override
  public synchronized void onStageSubmitted(SparkListenerStageSubmitted event) {
    submittedStages++;
    if (event.stageInfo().attemptNumber() > 0) {
      retriedStages++;
    }
  }

  @Override
  public synchronized void onTaskEnd(SparkListenerTaskEnd event) {
    if (event.reason() instanceof FetchFailed failure) {
      fetchFailures.add(failure);
    } else if (event.reason() instanceof TaskKilled) {
      killedTasks++;
    } else if (event.reason() instanceof ExceptionFailure) {
      failedTasks++;
    } else if (event.taskInfo().successful() && event.taskMetrics() != null) {
      totals = totals.plus(ShuffleTotals.of(event.taskMetrics()));
    }
  }

  @Override
  public synchronized void onExecutorRemoved(SparkListenerExecutorRemoved event) {
    removedExecutors.add(event.executorId());
  }

  /** Waits until every event so far has arrived here. */
  void settle(SparkContext context) {
    try {
      context.listenerBus().waitUntilEmpty(SETTLE_MILLIS);
    } catch (TimeoutException e) {
      throw new IllegalStateException("the listener bus did not drain in " + SETTLE_MILLIS + " ms", e);
    }
  }

  synchronized List<FetchFailed> fetchFailures() {
    return List.copyOf(fetchFailures);
  }

  synchronized int retriedStages() {
    return retriedStages;
  }

  synchronized int submittedStages() {
    return submittedStages;
  }

  /**
   * The executors that all parts of the scheduler have removed. A job that starts earlier, when the executor is only
   * missing in the list of executors, may still read from it: its tasks get the old locations, and a stage is retried.
   */
  synchronized Set<String> removedExecutors() {
    return Set.copyOf(removedExecutors);
  }

  synchronized int killedTasks() {
    return killedTasks;
  }

  /** Attempts of tasks that an exception ended. */
  synchronized int failedTasks() {
    return failedTasks;
  }

  /** Sums over the tasks that succeeded. */
  synchronized ShuffleTotals totals() {
    return totals;
  }
}
