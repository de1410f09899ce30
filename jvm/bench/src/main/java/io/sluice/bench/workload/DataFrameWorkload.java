package io.sluice.bench.workload;

import io.sluice.bench.check.Digest;
import io.sluice.bench.check.RowDigester;
import io.sluice.bench.check.SortColumn;
import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/** A workload that is one query: timed into Spark's {@code noop} sink, verified row by row. */
public abstract class DataFrameWorkload implements Workload {

  /** The query, not yet executed. */
  protected abstract Dataset<Row> query(SparkSession spark, Sizing sizing);

  /** The columns by which the result must be sorted; empty if it is not sorted. */
  protected List<SortColumn> order() {
    return List.of();
  }

  /** The query as its result is compared; another than {@link #query} where that may differ from run to run. */
  protected Dataset<Row> compared(SparkSession spark, Sizing sizing) {
    return query(spark, sizing);
  }

  @Override
  public final void run(SparkSession spark, Sizing sizing) {
    setPartitions(spark, sizing);
    query(spark, sizing).write().format("noop").mode("overwrite").save();
  }

  @Override
  public final Digest verify(SparkSession spark, Sizing sizing) {
    setPartitions(spark, sizing);
    return RowDigester.digest(compared(spark, sizing), order());
  }

  private static void setPartitions(SparkSession spark, Sizing sizing) {
    if (sizing.partitions() > 0) {
      spark.conf().set("spark.sql.shuffle.partitions", Integer.toString(sizing.partitions()));
    }
  }
}
