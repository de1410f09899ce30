package io.sluice.spark.events;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.metrics.ColumnBytes;
import io.sluice.spark.metrics.ColumnSample;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.ExecutorReport;
import io.sluice.spark.metrics.FetchReport;
import io.sluice.spark.metrics.LatencyCounts;
import io.sluice.spark.metrics.PeerReport;
import io.sluice.spark.metrics.ShuffleFigures;
import io.sluice.spark.metrics.TaskFigures;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.LongStream;
import org.apache.spark.resource.ResourceProfile;
import org.apache.spark.scheduler.JobSucceeded$;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.apache.spark.scheduler.SparkListenerJobEnd;
import org.apache.spark.scheduler.SparkListenerStageCompleted;
import org.apache.spark.scheduler.SparkListenerStageSubmitted;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.scheduler.StageInfo;
import org.apache.spark.scheduler.TaskInfo;
import org.junit.jupiter.api.Test;
import scala.Option;

import org.apache.spark.Success$;
import org.apache.spark.TaskState$;
import org.apache.spark.scheduler.TaskLocality$;
import scala.collection.immutable.Nil$;

class SummaryListenerTest {
  private final TaskFigures figures = new TaskFigures();
  private final List<SparkListenerEvent> posted = new ArrayList<>();
  private final AtomicLong clock = new AtomicLong();
  private final SummaryListener listener = new SummaryListener(figures, posted::add, clock::get);

  @SuppressWarnings("unchecked")
  private static StageInfo stage(int id) {
    return new StageInfo(id, 0, "stage", 1, (scala.collection.immutable.Seq) Nil$.MODULE$,
        (scala.collection.immutable.Seq) Nil$.MODULE$, "", null, (scala.collection.immutable.Seq) Nil$.MODULE$,
        Option.empty(), ResourceProfile.DEFAULT_RESOURCE_PROFILE_ID(), false, 0);
  }

  private void count(int shuffleId, int stageId, long records) {
    long[] values = new long[Counter.values().length];
    values[Counter.WRITE_RECORDS.ordinal()] = records;
    figures.add(List.of(new ShuffleFigures(shuffleId, stageId, 0, values)));
  }

  private void report(String executor) {
    TaskFigures ofTask = new TaskFigures();
    ofTask.reportExecutor(
        () -> new ExecutorReport(executor, "host", true, "fine", new TreeMap<>(Map.of("memory.usedBytes", 1L))));
    figures.merge(ofTask);
  }

  private void start(int stageId) {
    listener.onStageSubmitted(new SparkListenerStageSubmitted(stage(stageId), new java.util.Properties()));
  }

  private void complete(int stageId) {
    listener.onStageCompleted(new SparkListenerStageCompleted(stage(stageId)));
  }

  private void endJob() {
    listener.onJobEnd(new SparkListenerJobEnd(0, 0, JobSucceeded$.MODULE$));
  }

  private List<Long> postedRecords() {
    return posted.stream().filter(StageSummary.class::isInstance)
        .map(event -> ((StageSummary) event).figures().get("write.records")).toList();
  }

  @Test
  void aStagesFiguresArePostedWhenItCompletes() {
    start(1);
    start(2);
    count(5, 1, 10);
    count(6, 2, 20);
    complete(1);
    assertEquals(List.of(10L), postedRecords());
    complete(2);
    assertEquals(List.of(10L, 20L), postedRecords());
    complete(2);
    endJob();
    assertEquals(List.of(10L, 20L), postedRecords(), "nothing is posted twice");
  }

  @Test
  void figuresThatComeAfterTheirStageArePostedWithTheJobsEnd() {
    start(1);
    start(2);
    complete(1);
    count(5, 1, 10);
    count(6, 2, 20);
    endJob();
    assertEquals(List.of(10L), postedRecords(), "stage 2 runs");
  }

  @Test
  void anExecutorsFiguresAreNotPostedOftenForLong() {
    for (int i = 0; i < 100; i++) {
      report("1");
      complete(i);
    }
    assertInstanceOf(ExecutorSelfTest.class, posted.get(0));
    assertEquals(11, posted.size(), "a self-test, and ten figures");
    report("2");
    complete(100);
    assertEquals(13, posted.size());
    clock.addAndGet(TimeUnit.MINUTES.toNanos(2));
    report("1");
    complete(101);
    assertEquals(14, posted.size());
  }

  private void endTask(int stageId, long taskId, long millis, long encodeNanos) {
    TaskFigures ofTask = new TaskFigures();
    ofTask.inTask(taskId);
    ofTask.counters(new io.sluice.spark.metrics.Counters(), 5, stageId, 0).add(Counter.WRITE_ENCODE_NANOS, encodeNanos);
    figures.merge(ofTask);
    TaskInfo info = new TaskInfo(taskId, (int) taskId, 0, (int) taskId, 1_000, "1", "host",
        TaskLocality$.MODULE$.ANY(), false);
    info.markFinished(TaskState$.MODULE$.FINISHED(), 1_000 + millis);
    listener.onTaskEnd(new SparkListenerTaskEnd(stageId, 0, "ShuffleMapTask", Success$.MODULE$, info, null, null));
  }

  @Test
  void theLongestTasksOfAStageAreToldWhenItCompletes() {
    start(1);
    for (long task = 0; task < 1_000; task++) {
      endTask(1, task, task, 1_000 * (task + 1));
    }
    complete(1);
    List<Long> told = new ArrayList<>();
    for (SparkListenerEvent event : posted) {
      if (event instanceof StageTasks tasks) {
        assertEquals(1, tasks.stageId());
        for (int i = 0; i < tasks.size(); i++) {
          told.add(tasks.taskId(i));
          assertEquals(tasks.taskId(i) + 1, tasks.encodeMicros(i));
        }
      }
    }
    assertEquals(LongStream.range(1_000 - LongestTasks.MOST, 1_000).boxed().toList(), told);
  }

  @Test
  void tasksWithoutRowsOfSluiceAndOfEndedStagesAreNotTold() {
    start(1);
    endTask(1, 1, 50, 0);
    complete(1);
    endTask(1, 2, 50, 10);
    endJob();
    assertTrue(posted.stream().noneMatch(StageTasks.class::isInstance));
  }

  @Test
  void columnsAreToldOnce() {
    start(1);
    TaskFigures ofTask = new TaskFigures();
    ofTask.add(new ColumnSample(5, 1, new ArrayList<>(List.of(new ColumnBytes(0, 8, new long[] {3})))));
    figures.merge(ofTask);
    complete(1);
    complete(1);
    assertEquals(1, posted.stream().filter(ShuffleColumns.class::isInstance).count());
  }

  private void report(int connected, int failed) {
    TaskFigures ofTask = new TaskFigures();
    ofTask.reportExecutor(() -> new ExecutorReport("1", "host", true, "", "17", new TreeMap<>(), new TreeMap<>(),
        new FetchReport(new LatencyCounts(new long[] {7}, 9, 9), new ArrayList<>()),
        new PeerReport(9, connected, failed, new ArrayList<>())));
    figures.merge(ofTask);
    complete(1);
  }

  @Test
  void changesOfPeersThatCanBeReadArePostedWithTheFigures() {
    for (int i = 1; i <= 50; i++) {
      report(i, 0);
    }
    assertEquals(List.of(1, 2, 3, 4, 5, 6, 7, 8, 9, 10), connected());
    report(51, 1);
    report(52, 1);
    assertEquals(51, connected().get(10), "one more cannot be read");
    clock.addAndGet(TimeUnit.MINUTES.toNanos(2));
    report(52, 1);
    assertEquals(List.of(51, 52), connected().subList(10, 12));
  }

  private void reportFallbacks(Map<String, Long> fallbacks) {
    TaskFigures ofTask = new TaskFigures();
    ofTask.reportExecutor(() -> new ExecutorReport("1", "host", true, "", "17", new TreeMap<>(),
        new TreeMap<>(fallbacks), FetchReport.NONE, PeerReport.NONE));
    figures.merge(ofTask);
    complete(1);
  }

  @Test
  void fallbacksArePostedWithTheFiguresWhenTheyHaveChanged() {
    reportFallbacks(Map.of());
    reportFallbacks(Map.of("transport.unavailable", 1L));
    reportFallbacks(Map.of("transport.unavailable", 1L));
    reportFallbacks(Map.of("transport.unavailable", 1L, "transport.nettyOther", 2L));
    assertEquals(
        List.of(Map.of("transport.unavailable", 1L), Map.of("transport.unavailable", 1L, "transport.nettyOther", 2L)),
        posted.stream().filter(ExecutorFallbacks.class::isInstance).map(event -> ((ExecutorFallbacks) event).figures())
            .toList());
  }

  @Test
  void theExecutorsJavaIsPostedWithItsSelfTest() {
    reportFallbacks(Map.of());
    assertEquals("17", ((ExecutorSelfTest) posted.get(0)).javaVersion());
  }

  /** A bus that fails once loses the event that it failed for, and nothing else. */
  @Test
  void aBusThatFailsDoesNotDisturbTheListener() {
    AtomicInteger failures = new AtomicInteger(2);
    SummaryListener withBroken = new SummaryListener(figures, event -> {
      if (failures.getAndDecrement() > 0) {
        throw new IllegalStateException("broken on purpose");
      }
      posted.add(event);
    }, clock::get);
    withBroken.onStageSubmitted(new SparkListenerStageSubmitted(stage(1), new java.util.Properties()));
    count(5, 1, 10);
    count(6, 1, 20);
    report("1");
    withBroken.onStageCompleted(new SparkListenerStageCompleted(stage(1)));
    assertEquals(List.of(), postedRecords(), "both were lost");
    assertEquals(1, posted.stream().filter(ExecutorSelfTest.class::isInstance).count());
    count(7, 1, 30);
    withBroken.onJobEnd(new SparkListenerJobEnd(0, 0, JobSucceeded$.MODULE$));
    assertEquals(List.of(30L), postedRecords(), "the stage was noted as completed");
  }

  private List<Integer> connected() {
    return posted.stream().filter(ExecutorPeers.class::isInstance).map(event -> ((ExecutorPeers) event).connected())
        .toList();
  }

  @Test
  void anExecutorThatWasRemovedIsForgotten() {
    for (int i = 0; i < 20; i++) {
      report("1");
      complete(i);
    }
    clock.addAndGet(TimeUnit.MINUTES.toNanos(2));
    report("1");
    listener.onExecutorRemoved(new SparkListenerExecutorRemoved(0, "1", "it has ended"));
    assertEquals(12, posted.size(), "a self-test, ten figures, and what it reported last");
    report("1");
    complete(1);
    assertEquals(2, posted.stream().filter(ExecutorSelfTest.class::isInstance).count(), "as of a new executor");
  }

  @Test
  void failuresOfPeersArePostedAtOnceAndLatenciesWithTheFigures() {
    for (int i = 0; i < 50; i++) {
      report(3, 0);
    }
    assertEquals(1, posted.stream().filter(ExecutorPeers.class::isInstance).count());
    assertEquals(10, posted.stream().filter(ExecutorLatencies.class::isInstance).count());
    report(3, 1);
    report(3, 1);
    report(4, 0);
    assertEquals(List.of(0, 1, 0), posted.stream().filter(ExecutorPeers.class::isInstance)
        .map(event -> ((ExecutorPeers) event).failed()).toList());
  }
}
