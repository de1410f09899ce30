package io.sluice.bench.workload;

import static org.apache.spark.sql.functions.col;

import io.sluice.bench.check.SortColumn;
import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/** A total order by five columns: int, string, double and long, up and down. */
public final class SortByFive extends DataFrameWorkload {

  @Override
  protected Dataset<Row> query(SparkSession spark, Sizing sizing) {
    return BenchTable.of(spark, sizing)
        .orderBy(col("d").desc(), col("name"), col("s").desc(), col("x"), col("id").desc());
  }

  @Override
  protected List<SortColumn> order() {
    return List.of(new SortColumn("d", true), SortColumn.ascending("name"), new SortColumn("s", true),
        SortColumn.ascending("x"), new SortColumn("id", true));
  }
}
