package io.sluice.bench.workload;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/** The whole table through the {@code REBALANCE} hint, planned adaptively: files of equal size before a write. */
public final class Rebalance extends DataFrameWorkload {

  @Override
  public boolean wantsSparksDefaults() {
    return true;
  }

  @Override
  protected Dataset<Row> query(SparkSession spark, Sizing sizing) {
    return BenchTable.of(spark, sizing).hint("rebalance");
  }
}
