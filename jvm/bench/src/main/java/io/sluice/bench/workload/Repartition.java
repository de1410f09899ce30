package io.sluice.bench.workload;

import static org.apache.spark.sql.functions.col;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/** The whole table through one hash shuffle by {@code k}: nothing but shuffle. */
public final class Repartition extends DataFrameWorkload {

  private static final int PARTITIONS = 200;

  @Override
  protected Dataset<Row> query(SparkSession spark, Sizing sizing) {
    return BenchTable.of(spark, sizing).repartition(sizing.partitionsOr(PARTITIONS), col("k"));
  }
}
