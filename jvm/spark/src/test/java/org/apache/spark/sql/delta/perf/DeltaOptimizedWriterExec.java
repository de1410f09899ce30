package org.apache.spark.sql.delta.perf;

import java.util.function.Supplier;

/** Has the name of the plan node that makes an exchange and reads its blocks itself, as a caller on the stack. */
public final class DeltaOptimizedWriterExec {
  private DeltaOptimizedWriterExec() {}

  /** Runs the action below this class. */
  public static <T> T execute(Supplier<T> action) {
    return action.get();
  }
}
