package io.sluice.spark.cleanup;

import java.util.Set;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.datasources.v2.WriteToDataSourceV2Exec;

/**
 * Which plans nobody runs again once their execution has ended, as far as that is known without a garbage collection:
 * from the one who makes them. Spark makes a plan for each of some actions, for each command and for each batch of a
 * stream, and gives it to nobody. Other actions run the plan that a {@code Dataset} keeps; as long as there is the
 * {@code Dataset}, another action can run it.
 */
final class OneTimePlans {
  /**
   * {@code show}, {@code take} and {@code first} are head. The statements of the spark-sql shell are cli; what a client
   * of Spark Connect fetches is collectArrow, whatever the client calls it: the server makes a plan for each request.
   */
  private static final Set<String> ACTIONS = Set.of("count", "head", "tail", "isEmpty", "cli", "collectArrow");

  private OneTimePlans() {}

  /** @param action the name of the execution; the empty text for none */
  static boolean isOneTime(String action, QueryExecution execution) {
    return ACTIONS.contains(action) || execution.logical() instanceof Command
        || isBatchOfStream(execution) && writesItself(execution);
  }

  /** By name, because Spark 4.1 has moved the class to another package. */
  private static boolean isBatchOfStream(QueryExecution execution) {
    return isNamed("IncrementalExecution", execution);
  }

  /**
   * Whether Spark alone has had the batch. {@code foreachBatch} and sinks of others get a {@code Dataset} of it, which
   * they may keep.
   */
  private static boolean writesItself(QueryExecution execution) {
    return execution.executedPlan() instanceof WriteToDataSourceV2Exec || isWrittenToFiles(execution.logical());
  }

  /** Spark's sink of files is the older kind of sink, whose mark in the plan Spark has since 3.4. */
  private static boolean isWrittenToFiles(LogicalPlan plan) {
    if (isNamed("WriteToMicroBatchDataSourceV1", plan)) {
      for (int i = 0; i < plan.productArity(); i++) {
        if (isNamed("FileStreamSink", plan.productElement(i))) {
          return true;
        }
      }
    }
    return false;
  }

  private static boolean isNamed(String simpleName, Object object) {
    return object != null && object.getClass().getName().startsWith("org.apache.spark.sql.")
        && object.getClass().getSimpleName().equals(simpleName);
  }
}
