package io.sluice.systemtests;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.types.DataTypes;

/** A SQL function that stops a task's first attempt at one row until it is killed; other attempts pass. */
final class Straggler implements UDF1<Long, Long> {
  private static final long serialVersionUID = 1L;

  private final long slowId;

  private Straggler(long slowId) {
    this.slowId = slowId;
  }

  static void register(SparkSession spark, String name, long slowId) {
    spark.udf().register(name, new Straggler(slowId), DataTypes.LongType);
  }

  @Override
  public Long call(Long id) {
    TaskContext task = TaskContext.get();
    if (id == slowId && task.attemptNumber() == 0) {
      while (!task.isInterrupted()) {
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(10));
      }
    }
    return id;
  }
}
