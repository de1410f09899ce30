package io.sluice.bench.workload;

import static org.apache.spark.sql.functions.col;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/** {@code SELECT DISTINCT} of two columns, of which nearly all pairs differ: partial aggregation removes few rows. */
public final class DistinctRows extends DataFrameWorkload {

  @Override
  protected Dataset<Row> query(SparkSession spark, Sizing sizing) {
    return BenchTable.of(spark, sizing).select(col("k"), col("d")).distinct();
  }
}
