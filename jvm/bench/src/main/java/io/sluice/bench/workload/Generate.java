package io.sluice.bench.workload;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/** The table alone, without a shuffle: the floor below every other query workload. */
public final class Generate extends DataFrameWorkload {

  @Override
  protected Dataset<Row> query(SparkSession spark, Sizing sizing) {
    return BenchTable.of(spark, sizing);
  }
}
