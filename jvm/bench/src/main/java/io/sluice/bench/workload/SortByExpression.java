package io.sluice.bench.workload;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.upper;

import io.sluice.bench.check.SortColumn;
import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/** A total order by a string that is computed of a column, and by another column. */
public final class SortByExpression extends DataFrameWorkload {

  @Override
  protected Dataset<Row> query(SparkSession spark, Sizing sizing) {
    return BenchTable.of(spark, sizing).orderBy(upper(col("name")), col("id"));
  }

  /** All names are alike but for their numbers. */
  @Override
  protected List<SortColumn> order() {
    return List.of(SortColumn.ascending("name"), SortColumn.ascending("id"));
  }
}
