package io.sluice.bench.tpch;

import io.sluice.bench.check.SortColumn;
import io.sluice.bench.tables.ParquetTables;
import io.sluice.bench.workload.DataFrameWorkload;
import io.sluice.bench.workload.Sizing;
import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/**
 * One query of TPC-H. Parsing and planning are timed, finding the tables' files is not.
 *
 * <p>Results can be compared bit by bit: all sums and averages are of decimals, so exact in any order. Where
 * LIMIT cuts (2, 3, 10, 18, 21), queries 2 and 21 order all rows, and ties of the others at the cut need equal
 * sums of money.
 */
public final class TpchQuery extends DataFrameWorkload {

  private final int number;

  /** Query {@code number}, 1 to 22. */
  public TpchQuery(int number) {
    this.number = number;
  }

  /** True: adaptive execution and broadcast joins are part of what TPC-H measures, and what users have. */
  @Override
  public boolean wantsSparksDefaults() {
    return true;
  }

  @Override
  public void prepare(SparkSession spark, Sizing sizing) {
    ParquetTables.register(spark, sizing.tables());
  }

  @Override
  protected Dataset<Row> query(SparkSession spark, Sizing sizing) {
    return spark.sql(QueryText.of(number, sizing.tables().scale()).sql());
  }

  /** As the query's ORDER BY says; single rows (6, 14, 17, 19) have none. */
  @Override
  protected List<SortColumn> order() {
    return QueryText.of(number, 1).order();
  }
}
