package io.sluice.bench.tpch;

import io.sluice.bench.check.SortColumn;
import io.sluice.bench.tables.TableQuery;
import io.sluice.bench.workload.Sizing;
import java.util.List;

/**
 * One query of TPC-H.
 *
 * <p>Results can be compared bit by bit: all sums and averages are of decimals, so exact in any order. Where
 * LIMIT cuts (2, 3, 10, 18, 21), queries 2 and 21 order all rows, and ties of the others at the cut need equal
 * sums of money.
 */
public final class TpchQuery extends TableQuery {

  private final int number;

  /** Query {@code number}, 1 to 22. */
  public TpchQuery(int number) {
    this.number = number;
  }

  @Override
  protected String sql(Sizing sizing) {
    return QueryText.of(number, sizing.tables().scale()).sql();
  }

  /** As the query's ORDER BY says; single rows (6, 14, 17, 19) have none. */
  @Override
  protected List<SortColumn> order() {
    return QueryText.of(number, 1).order();
  }
}
