package io.sluice.bench.workload;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.row_number;
import static org.apache.spark.sql.functions.sum;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.expressions.Window;
import org.apache.spark.sql.expressions.WindowSpec;

/** A rank and a running sum within each of 1,000 groups: a shuffle by the group and a sort below the window. */
public final class Ranking extends DataFrameWorkload {

  @Override
  protected Dataset<Row> query(SparkSession spark, Sizing sizing) {
    WindowSpec byGroup = Window.partitionBy(col("s")).orderBy(col("k"), col("id"));
    return BenchTable.of(spark, sizing).select(col("s"), col("k"), col("id"), col("y"),
        row_number().over(byGroup).as("rank"), sum(col("y")).over(byGroup).as("running"));
  }
}
