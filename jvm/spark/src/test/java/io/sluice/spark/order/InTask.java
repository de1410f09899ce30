package io.sluice.spark.order;

import io.sluice.spark.LocalSpark;
import java.util.List;
import java.util.function.Function;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaSparkContext;

/** Runs code in a task. Statics, because Spark would want to serialize anything else: tasks run in this process. */
final class InTask {
  private static Function<TaskContext, Object> body;
  private static Object result;

  private InTask() {}

  /** The result of {@code body}, once its task and the task's completion listeners have ended. */
  @SuppressWarnings("unchecked")
  static <T> T run(LocalSpark spark, Function<TaskContext, T> body) {
    InTask.body = body::apply;
    JavaSparkContext.fromSparkContext(spark.session().sparkContext()).parallelize(List.of(1), 1).foreach(one -> run());
    return (T) result;
  }

  private static void run() {
    result = body.apply(TaskContext.get());
  }
}
