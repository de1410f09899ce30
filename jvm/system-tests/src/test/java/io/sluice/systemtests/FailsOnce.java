package io.sluice.systemtests;

import org.apache.spark.TaskContext;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.types.DataTypes;

/** A SQL function that fails in the first attempt of every task, after some rows; a shorter task does not fail. */
final class FailsOnce implements UDF1<Long, Long> {
  private static final long serialVersionUID = 1L;

  private final int after;
  private transient int rows;

  private FailsOnce(int after) {
    this.after = after;
  }

  static void register(SparkSession spark, String name, int after) {
    spark.udf().register(name, new FailsOnce(after), DataTypes.LongType);
  }

  @Override
  public Long call(Long value) {
    rows++;
    if (rows > after && TaskContext.get().attemptNumber() == 0) {
      throw new IllegalStateException("on purpose: the first attempt of this task fails");
    }
    return value;
  }
}
