package io.sluice.bench.tables;

import io.sluice.bench.workload.DataFrameWorkload;
import io.sluice.bench.workload.Sizing;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/**
 * One SQL query of a benchmark over its Parquet tables. Parsing and planning are timed, registering the
 * tables is not.
 */
public abstract class TableQuery extends DataFrameWorkload {

  /** The query's text for tables of {@code sizing}. */
  protected abstract String sql(Sizing sizing);

  /** True: adaptive execution and broadcast joins are part of what such benchmarks measure, and what users have. */
  @Override
  public boolean wantsSparksDefaults() {
    return true;
  }

  @Override
  public void prepare(SparkSession spark, Sizing sizing) {
    ParquetTables.register(spark, sizing.tables());
  }

  @Override
  protected Dataset<Row> query(SparkSession spark, Sizing sizing) {
    return spark.sql(sql(sizing));
  }
}
