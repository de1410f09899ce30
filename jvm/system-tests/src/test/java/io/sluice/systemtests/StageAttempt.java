package io.sluice.systemtests;

import org.apache.spark.TaskContext;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.types.DataTypes;

/**
 * A SQL function that marks a row with the attempt of the stage that made it: 0, and more when map outputs are written
 * again.
 */
final class StageAttempt implements UDF1<Long, Integer> {
  private static final long serialVersionUID = 1L;

  private StageAttempt() {}

  static void register(SparkSession spark, String name) {
    spark.udf().register(name, new StageAttempt(), DataTypes.IntegerType);
  }

  @Override
  public Integer call(Long id) {
    return TaskContext.get().stageAttemptNumber();
  }
}
