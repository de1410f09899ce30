package io.sluice.bench.workload;

import java.util.stream.Stream;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.functions;

/**
 * The table, or some of its columns, through the {@code REBALANCE} hint, planned adaptively: files of equal size before
 * a write.
 */
public final class Rebalance extends DataFrameWorkload {
  private final Column[] columns;

  /** @param columns none for all */
  public Rebalance(String... columns) {
    this.columns =
        Stream.of(columns.length == 0 ? new String[] {"*"} : columns).map(functions::col).toArray(Column[]::new);
  }

  @Override
  public boolean wantsSparksDefaults() {
    return true;
  }

  @Override
  protected Dataset<Row> query(SparkSession spark, Sizing sizing) {
    return BenchTable.of(spark, sizing).select(columns).hint("rebalance");
  }
}
