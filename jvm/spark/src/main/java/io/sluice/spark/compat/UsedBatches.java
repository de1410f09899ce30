package io.sluice.spark.compat;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/**
 * What Spark's {@code ColumnarToRowExec} does with a batch whose rows have been used: from 3.5.4 on it frees vectors
 * that their producer does not fill again. Any thread.
 */
public final class UsedBatches {
  /** Null on the lines before. */
  private static final MethodHandle CLOSE = closeIfFreeable();

  private UsedBatches() {}

  /** Frees the batch's vectors where Spark does. */
  public static void close(ColumnarBatch batch) {
    if (CLOSE != null) {
      try {
        CLOSE.invokeExact(batch);
      } catch (Throwable e) {
        throw SparkLine.unchecked(e);
      }
    }
  }

  private static MethodHandle closeIfFreeable() {
    try {
      return MethodHandles.publicLookup().findVirtual(
          ColumnarBatch.class, "closeIfFreeable", MethodType.methodType(void.class));
    } catch (NoSuchMethodException | IllegalAccessException e) {
      return null;
    }
  }
}
