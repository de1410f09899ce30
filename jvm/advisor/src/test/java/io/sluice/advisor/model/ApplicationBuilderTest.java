package io.sluice.advisor.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.advisor.log.LogHealth;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** A log that never ends anything and names everything anew takes no more memory than the limits allow. */
class ApplicationBuilderTest {
  private static final int MOST = 100;

  private final ApplicationBuilder builder = new ApplicationBuilder(limit -> MOST);

  @Test
  void everyMapIsBounded() {
    for (int i = 0; i < 10_000; i++) {
      builder.executorAdded("executor " + i, 1);
      builder.plan(i, 1_000 + i, Map.of(2L * i, Exchange.of(""), 2L * i + 1, Exchange.of("")));
      JobStart job = new JobStart();
      job.id(i);
      job.group("group " + i);
      builder.jobStarted(job);
      builder.stageSubmitted(stage(i));
      builder.stageCompleted(stage(i));
      TaskEnd task = new TaskEnd();
      task.stage(i);
      builder.taskEnded(task);
    }
    assertEquals(MOST, builder.largestMap());
    Application application = build();
    assertEquals(EnumSet.allOf(Limit.class), application.exceeded());
    assertEquals(MOST, application.stages().size());
    assertEquals(MOST, application.executors());
    assertEquals(MOST, application.jobs().size());
  }

  @Test
  void plansOfOneQueryThatChangeForeverAreBounded() {
    for (int i = 0; i < 10_000; i++) {
      builder.plan(1, 1_000, Map.of(1L, Exchange.of("Exchange hashpartitioning(a, " + i + ")")));
    }
    assertEquals(1, builder.largestMap());
    assertEquals(Set.of(), build().exceeded());
  }

  @Test
  void whatIsKnownIsSummedFurtherBeyondTheLimit() {
    for (int i = 0; i < 2 * MOST; i++) {
      builder.stageSubmitted(stage(i));
    }
    for (int i = 0; i < 7; i++) {
      TaskEnd task = new TaskEnd();
      task.stage(0);
      builder.taskEnded(task);
    }
    List<Stage> stages = build().stages();
    assertEquals(List.of(0), stages.stream().map(Stage::id).toList());
    assertEquals(7, stages.get(0).totals().tasks());
  }

  @Test
  void whatEndsMakesRoom() {
    for (int i = 0; i < 10_000; i++) {
      builder.executorAdded("executor " + i, 1);
      builder.executorRemoved("executor " + i);
      builder.plan(i, 1_000 + i, Map.of((long) i, Exchange.of("")));
      builder.executionEnded(i, 2_000 + i);
    }
    assertTrue(builder.largestMap() <= 1);
    assertEquals(Set.of(), build().exceeded());
  }

  @Test
  void limitsAreSaidInSentences() {
    assertEquals("There are more stages than the 200,000 that are kept: the last ones are missing.",
        Limit.STAGES.sentence());
  }

  private Application build() {
    return builder.build("log", new LogHealth(1, 0, 0, ""));
  }

  private static StageInfo stage(int id) {
    StageInfo stage = new StageInfo();
    stage.id = id;
    stage.name = "name " + id;
    stage.parents.add(id);
    stage.inputs.add(new ShuffleInput("ShuffledRDD", "operation " + id, List.of(id, id + 1), 1));
    return stage;
  }
}
