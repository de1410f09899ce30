package io.sluice.bench.workload;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/** The whole table to partitions in turn: {@code repartition(n)}, before which Spark sorts each map task's rows. */
public final class RoundRobin extends DataFrameWorkload {

  private static final int PARTITIONS = 200;

  @Override
  protected Dataset<Row> query(SparkSession spark, Sizing sizing) {
    return BenchTable.of(spark, sizing).repartition(sizing.partitionsOr(PARTITIONS));
  }
}
