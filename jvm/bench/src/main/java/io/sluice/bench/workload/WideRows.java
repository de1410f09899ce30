package io.sluice.bench.workload;

import static org.apache.spark.sql.functions.col;

import java.util.stream.IntStream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/** Rows of 500 columns to 2,000 partitions: few rows a block, many columns a frame. */
public final class WideRows extends DataFrameWorkload {

  /** Columns of a row. */
  public static final int COLUMNS = 500;
  private static final int PARTITIONS = 2_000;

  @Override
  protected Dataset<Row> query(SparkSession spark, Sizing sizing) {
    String[] columns = IntStream.range(0, COLUMNS)
        .mapToObj(i -> i == 0 ? "id" : "xxhash64(id, " + i + ") % " + (1L << i % 62) + " AS c" + i)
        .toArray(String[]::new);
    return spark.range(0, sizing.rows(), 1, sizing.maps()).selectExpr(columns)
        .repartition(sizing.partitionsOr(PARTITIONS), col("id"));
  }
}
