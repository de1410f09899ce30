package io.sluice.spark.read;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.LocalSpark;
import java.util.List;
import java.util.Map;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.apache.spark.TaskContext$;

/** Which threads end their work before a task's completion listeners run. */
@Timeout(120)
class InsideTaskTest {
  private interface Question {
    boolean ask(TaskContext context) throws Exception;
  }

  private static final Question ON_THE_TASKS_OWN = context -> new InsideTask(context).getAsBoolean();
  /** As {@code PipedRDD} and Spark 3's Python runner start them; its name says nothing. */
  private static final Question ON_ANOTHER = context -> {
    FutureTask<Boolean> answer = new FutureTask<>(() -> {
      TaskContext$.MODULE$.setTaskContext(context);
      return new InsideTask(context).getAsBoolean();
    });
    new Thread(answer, "Executor task launch worker for task 0").start();
    return answer.get(30, TimeUnit.SECONDS);
  };
  /** The same object asked from both. */
  private static final Question ON_ONE_AFTER_THE_OTHER = context -> {
    InsideTask inside = new InsideTask(context);
    FutureTask<Boolean> other = new FutureTask<>(() -> {
      TaskContext$.MODULE$.setTaskContext(context);
      return inside.getAsBoolean();
    });
    boolean before = inside.getAsBoolean();
    new Thread(other).start();
    return before && !other.get(30, TimeUnit.SECONDS) && inside.getAsBoolean();
  };
  private static final Question OF_ANOTHER_TASK =
      context -> new InsideTask(TaskContext$.MODULE$.empty()).getAsBoolean();

  private static Question asked;

  private static boolean inTask(LocalSpark spark, Question question) {
    asked = question;
    return new JavaSparkContext(spark.session().sparkContext()).parallelize(List.of(1), 1)
        .map(one -> asked.ask(TaskContext.get())).first();
  }

  /** Without the plugin nobody says where tasks begin, and the callers are looked at. */
  @ParameterizedTest
  @ValueSource(strings = {"io.sluice.spark.SluicePlugin", ""})
  void onlyTheTasksThreadIsInsideTheTask(String plugins) {
    try (LocalSpark spark = LocalSpark.start(Map.of("spark.plugins", plugins))) {
      assertEquals(List.of(true, false, true, false), List.of(inTask(spark, ON_THE_TASKS_OWN),
          inTask(spark, ON_ANOTHER), inTask(spark, ON_ONE_AFTER_THE_OTHER), inTask(spark, OF_ANOTHER_TASK)));
    }
  }

  /** Threads of pools run other tasks later. */
  @Test
  void aTaskThatBeganBeforeIsNotTheThreadsTask() {
    TaskContext first = TaskContext$.MODULE$.empty();
    InsideTask.taskStarted(first);
    assertTrue(new InsideTask(first).getAsBoolean());
    InsideTask.taskStarted(TaskContext$.MODULE$.empty());
    assertFalse(new InsideTask(first).getAsBoolean());
  }

  @Test
  void aThreadWithoutATaskContextIsInsideNoTask() {
    assertFalse(new InsideTask(TaskContext$.MODULE$.empty()).getAsBoolean());
  }
}
