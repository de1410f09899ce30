package io.sluice.bench.workload;

import static org.apache.spark.sql.functions.col;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/**
 * A sort-merge join in which a quarter of the left side's rows have one key, planned adaptively: Spark splits that
 * key's partition. The right side has each key once.
 */
public final class SkewJoin extends DataFrameWorkload {

  private static final long KEYS = 1_000_000;

  @Override
  protected Dataset<Row> query(SparkSession spark, Sizing sizing) {
    SparkSession adaptive = spark.newSession();
    adaptive.conf().set("spark.sql.shuffle.partitions", spark.conf().get("spark.sql.shuffle.partitions"));
    adaptive.conf().set("spark.sql.adaptive.enabled", "true");
    adaptive.conf().set("spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes", "16m");
    adaptive.conf().set("spark.sql.adaptive.advisoryPartitionSizeInBytes", "16m");
    Dataset<Row> left = BenchTable.of(adaptive, sizing)
        .selectExpr("IF(id % 4 = 0, 7L, k) AS k", "id", "d", "s", "name");
    Dataset<Row> right = adaptive.range(0, KEYS, 1, sizing.maps())
        .select(col("id").as("k"), col("id").multiply(3).as("weight"));
    return left.join(right.hint("merge"), "k");
  }
}
