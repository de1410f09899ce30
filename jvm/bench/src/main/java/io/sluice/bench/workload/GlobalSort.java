package io.sluice.bench.workload;

import static org.apache.spark.sql.functions.col;

import io.sluice.bench.check.SortColumn;
import java.util.List;
import java.util.stream.Stream;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.functions;

/**
 * The table, or some of its columns, in a total order by {@code k}, then {@code id}: sampling, a range shuffle, a sort.
 */
public final class GlobalSort extends DataFrameWorkload {

  private final Column[] columns;

  /** @param columns with {@code k} and {@code id}; none for all */
  public GlobalSort(String... columns) {
    this.columns =
        Stream.of(columns.length == 0 ? new String[] {"*"} : columns).map(functions::col).toArray(Column[]::new);
  }

  @Override
  protected Dataset<Row> query(SparkSession spark, Sizing sizing) {
    return BenchTable.of(spark, sizing).select(columns).orderBy(col("k"), col("id"));
  }

  @Override
  protected List<SortColumn> order() {
    return List.of(SortColumn.ascending("k"), SortColumn.ascending("id"));
  }
}
