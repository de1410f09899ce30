package io.sluice.bench.workload;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.count;
import static org.apache.spark.sql.functions.max;
import static org.apache.spark.sql.functions.sum;

import io.sluice.bench.check.SortColumn;
import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/**
 * A query as people run it first in a new application: group by {@code k}, ordered by the count and {@code k}. Two
 * shuffles (hash and range), planned as Spark does by default. It is timed as the application's first job, so most of
 * its time is loading and compiling classes, and starting what the shuffle needs.
 */
public final class ColdQuery extends DataFrameWorkload {

  @Override
  public boolean wantsSparksDefaults() {
    return true;
  }

  @Override
  protected Dataset<Row> query(SparkSession spark, Sizing sizing) {
    return BenchTable.of(spark, sizing).groupBy(col("k"))
        .agg(count(col("id")).as("n"), sum(col("y")).as("sum_y"), max(col("s")).as("max_s"))
        .orderBy(col("n"), col("k"));
  }

  @Override
  protected List<SortColumn> order() {
    return List.of(SortColumn.ascending("n"), SortColumn.ascending("k"));
  }
}
