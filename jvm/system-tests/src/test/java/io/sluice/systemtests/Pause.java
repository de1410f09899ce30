package io.sluice.systemtests;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.types.DataTypes;

/**
 * A SQL function that stops its task at one row until the task is killed, and lets the test wait for that. After the
 * kill it returns, so that the code after the function has to detect the kill. For a local master: test and function
 * share this process.
 */
final class Pause implements UDF1<Long, Long> {
  private static final long serialVersionUID = 1L;
  private static final long LIMIT_SECONDS = 60;
  private static volatile CountDownLatch reached = new CountDownLatch(1);

  private final long stopId;

  private Pause(long stopId) {
    this.stopId = stopId;
  }

  static void register(SparkSession spark, String name, long stopId) {
    reached = new CountDownLatch(1);
    spark.udf().register(name, new Pause(stopId), DataTypes.LongType);
  }

  /** Waits until a task has stopped at the row. */
  static void awaitReached() throws InterruptedException {
    if (!reached.await(LIMIT_SECONDS, TimeUnit.SECONDS)) {
      throw new AssertionError("no task came to the row in " + LIMIT_SECONDS + " s");
    }
  }

  @Override
  public Long call(Long id) {
    if (id == stopId) {
      reached.countDown();
      TaskContext task = TaskContext.get();
      while (!task.isInterrupted()) {
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(5));
      }
    }
    return id;
  }
}
