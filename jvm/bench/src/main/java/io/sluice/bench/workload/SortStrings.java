package io.sluice.bench.workload;

import static org.apache.spark.sql.functions.col;

import io.sluice.bench.check.SortColumn;
import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/** A total order by one string, of which the first fifteen bytes are equal. */
public final class SortStrings extends DataFrameWorkload {

  @Override
  protected Dataset<Row> query(SparkSession spark, Sizing sizing) {
    return BenchTable.of(spark, sizing)
        .selectExpr("concat_ws('/', 'customers', name, CAST(k AS STRING), CAST(id AS STRING)) AS path", "d", "y")
        .orderBy(col("path"));
  }

  @Override
  protected List<SortColumn> order() {
    return List.of(SortColumn.ascending("path"));
  }
}
