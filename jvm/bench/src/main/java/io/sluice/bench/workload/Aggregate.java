package io.sluice.bench.workload;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.count;
import static org.apache.spark.sql.functions.max;
import static org.apache.spark.sql.functions.sum;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/**
 * Group by {@code k}, which has a million distinct values: partial aggregation shrinks the shuffle little.
 * Only integers are aggregated, because a sum of doubles depends on the order in which blocks arrive.
 */
public final class Aggregate extends DataFrameWorkload {

  @Override
  protected Dataset<Row> query(SparkSession spark, Sizing sizing) {
    return BenchTable.of(spark, sizing).groupBy(col("k"))
        .agg(count(col("id")).as("n"), sum(col("y")).as("sum_y"), max(col("s")).as("max_s"));
  }
}
