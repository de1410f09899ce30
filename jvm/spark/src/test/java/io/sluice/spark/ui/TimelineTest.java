package io.sluice.spark.ui;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.events.LongestTasks;
import io.sluice.spark.events.ShuffleRegistered;
import io.sluice.spark.events.StageTasks;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.TaskTimes;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.scheduler.SparkListenerApplicationEnd;
import org.apache.spark.scheduler.StageInfo;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The times of a shuffle's tasks, from Spark's events to the picture. */
class TimelineTest {
  private final TestRows rows = new TestRows(1_000);
  private final TestStages stages = new TestStages(rows.listener);

  private String page(String id) throws Exception {
    String html = new TimelineContent(rows.store).html(Map.of("id", id)::get);
    PagesTest.assertIsWellFormed(html);
    return html;
  }

  private static int count(String text, String part) {
    return (text.length() - text.replace(part, "").length()) / part.length();
  }

  /** Stage 1 writes shuffle 7; stage 1 is not run again for the second job, whose stage 3 stands for it. */
  private void runTwice() {
    rows.registered(7);
    StageInfo map = TestStages.stage(1, 4, 7);
    StageInfo reduce = TestStages.stage(2, 2, -1, 1);
    stages.startJob(map, reduce);
    stages.run(map, 0, 2);
    stages.run(reduce, 10, 2);
    StageInfo skipped = TestStages.stage(3, 4, 7);
    StageInfo again = TestStages.stage(4, 3, -1, 3);
    stages.startJob(skipped, again);
    stages.run(again, 20, 2);
  }

  @Test
  void stagesThatWriteAndReadAShuffleAreShown() throws Exception {
    runTwice();
    assertEquals(List.of("1.0", "2.0", "4.0"), rows.store.shuffle(7).stages());
    String html = page("7");
    assertTrue(html.contains("Stage 1.0 writes it</h5>"), html);
    assertTrue(html.contains("Stage 2.0 reads it</h5>") && html.contains("Stage 4.0 reads it</h5>"), html);
    assertEquals(3, count(html, "viewBox"));
    assertTrue(html.contains("4 of 4 tasks have ended. Together they took 46 ms, waited 10 ms"), html);
    assertTrue(html.contains("Task 3 (number 3) on executor 1: from 10 ms, 13 ms long; waited 3 ms for blocks, wrote 2"
        + " ms; threads decoded 0 ms and encoded 0 ms"), html);
    assertTrue(html.contains(">10 ms</text>"), "an axis with units");
  }

  /** A History Server learns from a shuffle's RDD which stage writes it. */
  @Test
  void stagesOfAnEventLogAreLinkedByTheirRdds() {
    rows.listener.onOtherEvent(
        ShuffleRegistered.of(7, ShuffleRegistered.SPARK, "DISABLED", "it is off", 3, 1).of(50));
    StageInfo map = TestStages.logged(1, 4, 50);
    StageInfo reduce = TestStages.logged(2, 2, 60, 1);
    stages.startJob(map, reduce);
    stages.run(map, 0, 2);
    stages.tasksAre("ResultTask");
    stages.run(reduce, 10, 2);
    // An action on the RDD itself writes nothing.
    stages.run(TestStages.logged(3, 4, 50), 20, 2);
    assertEquals(List.of("1.0", "2.0"), rows.store.shuffle(7).stages());
    assertEquals(4, rows.store.shuffle(7).maps());
    assertEquals(7, rows.store.timeline("1.0").writes());
    assertEquals(StageTimeline.NONE, rows.store.timeline("2.0").writes());
  }

  @Test
  void anRddThatSeveralShufflesWriteLinksNone() {
    for (int shuffle = 7; shuffle <= 8; shuffle++) {
      rows.listener.onOtherEvent(
          ShuffleRegistered.of(shuffle, ShuffleRegistered.SQL_ROWS, null, null, 3, 1).of(50));
    }
    stages.run(TestStages.logged(1, 4, 50), 0, 2);
    assertEquals(List.of(), rows.store.shuffle(7).stages());
    assertEquals(List.of(), rows.store.shuffle(8).stages());
  }

  @Test
  void theNewestShuffleWithTasksIsShownUnlessOneIsAskedFor() {
    runTwice();
    rows.registered(8);
    assertTrue(new TimelineContent(rows.store).html(name -> null).contains("<h4>Shuffle 7</h4>"));
    assertTrue(new TimelineContent(rows.store).html(Map.of("id", " 8 ")::get).contains("<h4>Shuffle 8</h4>"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"9", "-1", "x", "99999999999", "<script>", "7.0"})
  void aNumberOfNoShuffleIsSaidSo(String number) throws Exception {
    runTwice();
    String html = page(number);
    assertTrue(html.contains("There is no shuffle of this number"), html);
    assertFalse(html.contains("<script"), html);
  }

  @Test
  void timesOfEncodingAndDecodingComeWhenTheStageHasCompleted() throws Exception {
    runTwice();
    StageTasks.of(1, 0, List.of(new TaskTimes(2, 5_000_000, 0), new TaskTimes(3, 6_000_000, 1_000_000)))
        .forEach(rows.listener::onOtherEvent);
    StageTasks.of(99, 0, List.of(new TaskTimes(2, 1, 1))).forEach(rows.listener::onOtherEvent);
    assertTrue(page("7").contains("threads decoded 1.0 ms and encoded 6.0 ms"));
    assertEquals(5_000, rows.store.timeline("1.0").longest().get(2).encodeMicros());
  }

  @Test
  void ofThousandsOfTasksTheLongestAreDrawnAndHowManyRan() throws Exception {
    rows.registered(7);
    StageInfo map = TestStages.stage(1, 5_000, 7);
    stages.submit(map);
    for (int task = 0; task < 5_000; task++) {
      stages.endTask(1, task, "1", 100L * (task / 50), task % 2_500, task != 17);
    }
    stages.complete(map);
    StageTimeline row = rows.store.timeline("1.0");
    assertEquals(LongestTasks.MOST, row.longest().size());
    assertEquals(5_000, row.ended());
    assertEquals(1, row.failed());
    assertTrue(row.longest().stream().allMatch(task -> task.millis() >= 2_450));
    assertEquals(row.runMillis(), Arrays.stream(row.busyMillis()).sum());
    String html = page("7");
    assertTrue(html.contains("The 100 longest are drawn one by one"), html);
    assertTrue(html.contains("All 5,000 tasks: how many ran at a time, at most "), html);
    assertTrue(html.contains("5,000 of 5,000 tasks have ended; 1 did not succeed"), html);
    assertTrue(html.length() < 200_000, () -> html.length() + " characters");
  }

  @Test
  void aRunningStageIsWrittenOnceASecond() {
    AtomicLong clock = new AtomicLong();
    Timelines timelines = new Timelines(rows.store, clock::get);
    timelines.begin("1.0", TestStages.stage(1, 9, 7), 7);
    TestStages direct = new TestStages(new org.apache.spark.scheduler.SparkListener() {
      @Override
      public void onTaskEnd(org.apache.spark.scheduler.SparkListenerTaskEnd end) {
        timelines.taskEnded("1.0", end);
      }
    });
    direct.endTask(1, 0, "1", 0, 5, true);
    assertNull(rows.store.timeline("1.0"));
    clock.addAndGet(1_000_000_000L);
    direct.endTask(1, 1, "1", 0, 5, true);
    assertEquals(2, rows.store.timeline("1.0").ended());
    direct.endTask(1, 2, "1", 0, 5, true);
    assertEquals(2, rows.store.timeline("1.0").ended());
    assertFalse(rows.store.timeline("1.0").complete());
    timelines.complete("1.0");
    assertEquals(3, rows.store.timeline("1.0").ended());
    assertTrue(rows.store.timeline("1.0").complete());
  }

  @Test
  void theStoreKeepsTheNewestStages() {
    for (int shuffle = 0; shuffle < 400; shuffle++) {
      rows.registered(shuffle);
      stages.run(TestStages.stage(shuffle, 150, shuffle), 1_000L * shuffle, 3);
    }
    int perStage = LongestTasks.MOST + Timelines.TASKS_OF_A_STAGE;
    int kept = Timelines.RETAINED_TASKS / perStage;
    assertNull(rows.store.timeline((400 - kept - 1) + ".0"));
    assertNotNull(rows.store.timeline((400 - kept) + ".0"));
    assertNotNull(rows.store.timeline("399.0"));
    assertTrue(new TimelineContent(rows.store).html(Map.of("id", "0")::get).contains("no longer remembered"));
  }

  @Test
  void aStageThatWasNotCompletedIsWrittenWhenTheApplicationEnds() {
    rows.registered(7);
    stages.submit(TestStages.stage(1, 4, 7));
    stages.endTask(1, 0, "1", 0, 5, true);
    rows.listener.onApplicationEnd(new SparkListenerApplicationEnd(0, scala.Option.empty()));
    assertEquals(1, rows.store.timeline("1.0").ended());
  }

  @Test
  void stagesWithoutShufflesAreLeftOut() {
    stages.run(TestStages.stage(1, 4, -1), 0, 2);
    assertNull(rows.store.timeline("1.0"));
    rows.summary(7, 1, Map.of(Counter.READ_RECORDS, 5L));
    assertNull(rows.store.timeline("1.0"));
  }

  @Test
  void ticksAreFew() {
    for (long millis = 1; millis < 10_000_000_000L; millis = millis * 3 + 1) {
      long ticks = millis / TimelineDrawing.tick(millis);
      assertTrue(ticks >= 1 && ticks <= 10, millis + " ms: " + ticks + " ticks");
    }
  }

  @Test
  void aTaskThatIsResubmittedIsNotCountedTwice() {
    rows.registered(7);
    StageInfo map = TestStages.stage(1, 4, 7);
    stages.submit(map);
    stages.endTask(1, 0, "1", 0, 5, true);
    stages.resubmit(1, 0);
    stages.complete(map);
    StageTimeline row = rows.store.timeline("1.0");
    assertEquals(1, row.ended());
    assertEquals(5, row.runMillis());
    assertEquals(1, row.longest().size());
  }

  /** Of a damaged event log. */
  @ParameterizedTest
  @ValueSource(longs = {Long.MAX_VALUE, Long.MAX_VALUE - TestStages.SUBMITTED, Long.MIN_VALUE, 1L << 62, 1L << 50})
  void timesThatNoClockShowsAreLeftOut(long start) throws Exception {
    rows.registered(7);
    StageInfo map = TestStages.stage(1, 4, 7);
    stages.submit(map);
    stages.endTask(1, 0, "1", start, 5, true);
    stages.endTask(1, 1, "1", 0, start, true);
    stages.endTask(1, 2, "1", 0, 5, true);
    stages.complete(map);
    StageTimeline row = rows.store.timeline("1.0");
    assertEquals(3, row.ended());
    assertEquals(List.of(2L), row.longest().stream().map(TaskSpan::taskId).toList());
    assertEquals(5, row.runMillis());
    assertEquals(1, count(page("7"), "viewBox"));
  }

  @Test
  void aStageThatBeganAtNoTimeIsLeftOut() {
    rows.registered(7);
    for (long submitted : new long[] {-1, Long.MIN_VALUE, Long.MAX_VALUE}) {
      StageInfo map = TestStages.stage(1, 4, 7);
      map.submissionTime_$eq(scala.Option.apply(submitted));
      stages.submit(map);
      stages.endTask(1, 0, "1", 0, 5, true);
      stages.complete(map);
      assertNull(rows.store.timeline("1.0"));
    }
  }

  @Test
  void spansThatOverflowAreIgnored() {
    BusyTime busy = new BusyTime(0);
    for (long time : new long[] {Long.MAX_VALUE, Long.MAX_VALUE / 2, Long.MIN_VALUE, -1}) {
      busy.add(0, time);
      busy.add(time, time);
      busy.add(time, 1);
    }
    assertEquals(0, Arrays.stream(busy.busyMillis()).sum());
    busy.add(0, 253_402_300_799_999L);
    assertEquals(253_402_300_799_999L, Arrays.stream(busy.busyMillis()).sum());
  }

  @Test
  void timeIsNotLostWhenPartsAreJoined() {
    BusyTime busy = new BusyTime(1_000);
    long sum = 0;
    for (int i = 0; i < 1_000; i++) {
      busy.add(1_000 + 37L * i, 1_000 + 37L * i + i);
      sum += i;
    }
    assertEquals(sum, Arrays.stream(busy.busyMillis()).sum());
    assertEquals(120, busy.busyMillis().length);
    busy.add(0, 1_001);
    assertEquals(sum + 1, Arrays.stream(busy.busyMillis()).sum(), "before the start there is nothing");
  }
}
