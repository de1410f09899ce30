package org.apache.spark.sql.delta.perf;

import java.util.function.Supplier;

/** Has the name of the plan node that makes an exchange and reads its blocks itself, as a caller on the stack. */
public final class DeltaOptimizedWriterExec {
  private DeltaOptimizedWriterExec() {}

  /** Runs the action below this class. */
  public static <T> T execute(Supplier<T> action) {
    return action.get();
  }

  /** The same below the method that looks at the node's input first. */
  public static <T> T childNumPartitions(Supplier<T> action) {
    return action.get();
  }
}
