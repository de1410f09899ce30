package io.sluice.advisor.estimate;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.sluice.advisor.TestLog;
import io.sluice.advisor.log.EventLog;
import io.sluice.advisor.log.EventLogReader;
import io.sluice.advisor.model.Stage;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The clock with Sluice, where stages run alone, at once and not at all. */
class TimelineTest {
  private static final long T = TestLog.START_MS;

  @TempDir private Path folder;

  @Test
  void clockRunsAsTheStagesThatRunAndGapsStay() throws Exception {
    // From 10 to 20 s a stage that takes half, from 30 to 40 s one that saves nothing.
    List<StageEstimate> stages = stages(new long[] {10, 20, 5}, new long[] {30, 40, 0});
    Timeline timeline = new Timeline(stages);
    assertEquals(45, timeline.seconds(T, T + 50_000), 1e-6);
    assertEquals(2.5, timeline.seconds(T + 15_000, T + 20_000), 1e-6);
    assertEquals(10, timeline.seconds(T + 30_000, T + 40_000), 1e-6);
    assertEquals(7.5, timeline.seconds(T + 5_000, T + 15_000), 1e-6);
    assertEquals(30, Timeline.idleSeconds(stages, T, T + 50_000), 1e-6);
  }

  @Test
  void stagesAtOnceAreWeightedByTheirTasks() throws Exception {
    Timeline timeline = new Timeline(stages(new long[] {10, 20, 10}, new long[] {10, 20, 0}));
    assertEquals(5, timeline.seconds(T + 10_000, T + 20_000), 1e-6);
  }

  @Test
  void applicationWithoutStagesTakesItsTime() {
    assertEquals(9, new Timeline(List.of()).seconds(T, T + 9_000), 1e-6);
    assertEquals(0, new Timeline(List.of()).seconds(T + 9_000, T), 1e-6);
  }

  /** Stages of one task each: seconds of start and end, seconds saved. */
  private List<StageEstimate> stages(long[]... spans) throws Exception {
    TestLog log = new TestLog().head("4.2.0", "x");
    for (int i = 0; i < spans.length; i++) {
      long start = T + spans[i][0] * 1_000;
      long end = T + spans[i][1] * 1_000;
      log.task(i, start, end - start, end - start, Map.of());
      log.stageCompleted(i, "s", 1, start, end, "[]", i, "", "");
    }
    Path file = Files.write(folder.resolve("log"), log.bytes());
    List<StageEstimate> estimates = new ArrayList<>();
    for (Stage stage : EventLogReader.read(new EventLog(file, List.of(file), true), count -> {}).stages()) {
      double saved = spans[stage.id()][2];
      estimates.add(new StageEstimate(stage, saved > 0 ? Map.of(Part.WRITE, saved) : Map.of(), saved, List.of(),
          new Confidence(Confidence.Level.HIGH, List.of()), Optional.empty(), Optional.empty(), 0, 0, Set.of()));
    }
    return estimates;
  }
}
