package io.sluice.bench.workload;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.collect_list;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.pmod;
import static org.apache.spark.sql.functions.sort_array;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/** The ids of each of 100,000 groups as a list; sorted, because a list's order depends on which blocks arrive first. */
public final class CollectList extends DataFrameWorkload {

  private static final long GROUPS = 100_000;

  @Override
  protected Dataset<Row> query(SparkSession spark, Sizing sizing) {
    return BenchTable.of(spark, sizing).groupBy(pmod(col("k"), lit(GROUPS)).as("g"))
        .agg(sort_array(collect_list(col("id"))).as("ids"));
  }
}
