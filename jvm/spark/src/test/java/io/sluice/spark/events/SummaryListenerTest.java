package io.sluice.spark.events;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.ExecutorReport;
import io.sluice.spark.metrics.ShuffleFigures;
import io.sluice.spark.metrics.TaskFigures;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.resource.ResourceProfile;
import org.apache.spark.scheduler.JobSucceeded$;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.scheduler.SparkListenerJobEnd;
import org.apache.spark.scheduler.SparkListenerStageCompleted;
import org.apache.spark.scheduler.SparkListenerStageSubmitted;
import org.apache.spark.scheduler.StageInfo;
import org.junit.jupiter.api.Test;
import scala.Option;
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
}
