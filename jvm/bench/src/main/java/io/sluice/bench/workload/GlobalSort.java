package io.sluice.bench.workload;

import static org.apache.spark.sql.functions.col;

import io.sluice.bench.check.SortColumn;
import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/** A total order by {@code k}, then {@code id}: sampling, a range shuffle, a sort. */
public final class GlobalSort extends DataFrameWorkload {

  @Override
  protected Dataset<Row> query(SparkSession spark, Sizing sizing) {
    return BenchTable.of(spark, sizing).orderBy(col("k"), col("id"));
  }

  @Override
  protected List<SortColumn> order() {
    return List.of(SortColumn.ascending("k"), SortColumn.ascending("id"));
  }
}
