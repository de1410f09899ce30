package io.sluice.spark.events;

import io.sluice.spark.metrics.ExecutorReport;
import io.sluice.spark.metrics.PeerReport;
import io.sluice.spark.metrics.ShuffleFigures;
import io.sluice.spark.metrics.TaskFigures;
import io.sluice.spark.metrics.TaskTimes;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.apache.spark.scheduler.SparkListenerJobEnd;
import org.apache.spark.scheduler.SparkListenerStageCompleted;
import org.apache.spark.scheduler.SparkListenerStageSubmitted;
import org.apache.spark.scheduler.SparkListenerTaskEnd;

/**
 * Posts what tasks have counted: for each stage when it completes, and, for tasks that end after their stage, when the
 * next job ends. Used by the thread of one listener queue.
 */
final class SummaryListener extends SparkListener {
  /**
   * Of each executor, so many reports are posted at once; later ones at this distance, to keep the event log small.
   * Only a change of the number of peers that cannot be read is posted at any time.
   */
  private static final int FIGURES_AT_ONCE = 10;
  private static final long FIGURES_DISTANCE_NANOS = TimeUnit.MINUTES.toNanos(1);

  private final TaskFigures figures;
  private final Poster poster;
  private final LongSupplier clockNanos;
  private final Set<Integer> runningStages = new HashSet<>();
  /** Of executors that live. */
  private final Map<String, Posted> executors = new HashMap<>();
  /** Of stages that run. */
  private final Map<StageAttempt, LongestTasks<TaskTimes>> tasks = new HashMap<>();

  private record StageAttempt(int stageId, int attempt) {}

  /** Peers and fallbacks are as they were posted last. */
  private record Posted(int count, long nanos, PeerReport peers, Map<String, Long> fallbacks) {}

  SummaryListener(TaskFigures figures, Consumer<SparkListenerEvent> bus) {
    this(figures, bus, System::nanoTime);
  }

  SummaryListener(TaskFigures figures, Consumer<SparkListenerEvent> bus, LongSupplier clockNanos) {
    this.figures = figures;
    this.poster = new Poster(bus);
    this.clockNanos = clockNanos;
  }

  @Override
  public void onStageSubmitted(SparkListenerStageSubmitted submitted) {
    runningStages.add(submitted.stageInfo().stageId());
  }

  @Override
  public void onTaskEnd(SparkListenerTaskEnd end) {
    TaskTimes times = end.taskInfo() == null ? null : figures.takeTimes(end.taskInfo().taskId());
    if (times != null && runningStages.contains(end.stageId()) && times.encodeNanos() + times.decodeNanos() > 0) {
      tasks.computeIfAbsent(new StageAttempt(end.stageId(), end.stageAttemptId()), stage -> new LongestTasks<>())
          .add(end.taskInfo().duration(), times.taskId(), times);
    }
  }

  @Override
  public void onStageCompleted(SparkListenerStageCompleted completed) {
    int stageId = completed.stageInfo().stageId();
    runningStages.remove(stageId);
    post(each -> each.stageId() == stageId);
    StageAttempt attempt = new StageAttempt(stageId, completed.stageInfo().attemptNumber());
    LongestTasks<TaskTimes> ended = tasks.remove(attempt);
    if (ended != null) {
      StageTasks.of(stageId, attempt.attempt(), ended.tasks()).forEach(poster::post);
    }
    tasks.keySet().removeIf(each -> each.stageId() == stageId);
  }

  @Override
  public void onJobEnd(SparkListenerJobEnd end) {
    post(each -> !runningStages.contains(each.stageId()));
  }

  /** What it has reported last is posted; after that it is forgotten. */
  @Override
  public void onExecutorRemoved(SparkListenerExecutorRemoved removed) {
    figures.takeReports().forEach(this::post);
    executors.remove(removed.executorId());
  }

  private void post(Predicate<ShuffleFigures> wanted) {
    for (ShuffleFigures each : figures.take(wanted)) {
      Map<String, Long> byId = each.byId();
      if (!byId.isEmpty()) {
        StageSummary.of(each.shuffleId(), each.stageId(), each.stageAttempt(), byId).forEach(poster::post);
      }
    }
    figures.takeColumns()
        .forEach(each -> poster.post(ShuffleColumns.of(each.shuffleId(), each.frames(), each.columns())));
    figures.takeReports().forEach(this::post);
  }

  private void post(ExecutorReport report) {
    Posted before = executors.get(report.executorId());
    if (before == null) {
      poster.post(ExecutorSelfTest.of(report.executorId(), report.host(), report.nativeCore(), report.selfTest())
          .on(report.javaVersion()));
    }
    long now = clockNanos.getAsLong();
    int count = before == null ? 0 : before.count();
    boolean due = count < FIGURES_AT_ONCE || now - before.nanos() >= FIGURES_DISTANCE_NANOS;
    PeerReport peers = before == null ? PeerReport.NONE : before.peers();
    if (!peers.equals(report.peers()) && (due || peers.failed() != report.peers().failed())) {
      peers = report.peers();
      poster.post(ExecutorPeers.of(report.executorId(), peers.announced(), peers.connected(), peers.failed(),
          peers.failedIds()));
    }
    if (due) {
      postFigures(report, before == null ? Collections.emptyMap() : before.fallbacks());
      executors.put(report.executorId(), new Posted(count + 1, now, peers, report.fallbacks()));
    } else {
      executors.put(report.executorId(), new Posted(count, before.nanos(), peers, before.fallbacks()));
    }
  }

  private void postFigures(ExecutorReport report, Map<String, Long> fallbacksBefore) {
    poster.post(ExecutorFigures.of(report.executorId(), report.figures()));
    if (!report.fallbacks().equals(fallbacksBefore)) {
      poster.post(ExecutorFallbacks.of(report.executorId(), report.fallbacks()));
    }
    if (report.fetches().all().blocks() > 0) {
      poster.post(ExecutorLatencies.of(report.executorId(), report.fetches().all(), report.fetches().peers()));
    }
  }
}
