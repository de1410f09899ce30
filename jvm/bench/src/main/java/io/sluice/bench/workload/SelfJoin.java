package io.sluice.bench.workload;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/** The table joined with itself on {@code id}, never broadcast: a sort-merge join of 15 columns. */
public final class SelfJoin extends DataFrameWorkload {

  @Override
  protected Dataset<Row> query(SparkSession spark, Sizing sizing) {
    Dataset<Row> right = BenchTable.of(spark, sizing).toDF("id", "k2", "d2", "x2", "s2", "name2", "y2", "c2");
    return BenchTable.of(spark, sizing).join(right, "id");
  }
}
