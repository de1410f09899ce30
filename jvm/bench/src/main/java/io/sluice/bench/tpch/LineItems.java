package io.sluice.bench.tpch;

import io.sluice.bench.tables.Benchmark;
import io.sluice.bench.tables.TableQuery;
import io.sluice.bench.workload.Sizing;

/** TPC-H's largest table as it lies in its files, read or sent through one exchange: nothing but scan and shuffle. */
public final class LineItems extends TableQuery {

  private final String name;

  /** {@link Benchmark#SCAN} or {@link Benchmark#EXCHANGE}. */
  public LineItems(String name) {
    this.name = name;
  }

  @Override
  protected String sql(Sizing sizing) {
    return Benchmark.TPCH.text(name, sizing.tables());
  }
}
