package io.sluice.systemtests;

import java.io.Serializable;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaSparkContext;

/** Evaluates a function on all executors of an application, by a small job. */
final class ExecutorSurvey {
  private static final int TASKS_PER_CORE = 8;
  private static final Duration LIMIT = Duration.ofSeconds(120);

  private ExecutorSurvey() {}

  /** The function that is evaluated on each executor. */
  @FunctionalInterface
  interface Question<T> extends Serializable {
    T answer() throws Exception;
  }

  /**
   * The results by executor id; of an executor that ran several of the job's tasks, that of the last. The job is run
   * again while a registered executor got no task of it, because tasks of another job still used its cores.
   */
  static <T> Map<String, T> ask(JavaSparkContext context, Question<T> question) {
    AtomicReference<Map<String, T>> answers = new AtomicReference<>(Map.of());
    Await.until(LIMIT,
        () -> "of " + context.sc().getExecutorMemoryStatus() + " only " + answers.get().keySet() + " answer", () -> {
          answers.set(askOnce(context, question));
          // The driver is in this list, and in local mode it is the only entry.
          return answers.get().size() >= context.sc().getExecutorMemoryStatus().size() - 1;
        });
    return answers.get();
  }

  private static <T> Map<String, T> askOnce(JavaSparkContext context, Question<T> question) {
    List<Integer> slots = new ArrayList<>();
    for (int i = 0; i < TASKS_PER_CORE * context.defaultParallelism(); i++) {
      slots.add(i);
    }
    Map<String, T> answers = new TreeMap<>();
    context.parallelize(slots, slots.size())
        .map(slot -> new Answer<>(SparkEnv.get().executorId(), question.answer()))
        .collect()
        .forEach(answer -> answers.put(answer.executorId(), answer.value()));
    return answers;
  }

  private record Answer<T>(String executorId, T value) implements Serializable {}
}
