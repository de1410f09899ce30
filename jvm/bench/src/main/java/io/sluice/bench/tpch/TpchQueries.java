package io.sluice.bench.tpch;

import io.sluice.bench.workload.Catalogue;
import java.util.List;
import java.util.stream.IntStream;

/** The queries' entries in the {@link Catalogue}. */
public final class TpchQueries {

  /** {@code tpch-q1} to {@code tpch-q22}; rows are those of all tables at scale 1. */
  public static final List<Catalogue.Entry> ENTRIES =
      IntStream.rangeClosed(1, QueryText.QUERIES).mapToObj(TpchQueries::entry).toList();

  private TpchQueries() {}

  private static Catalogue.Entry entry(int number) {
    return new Catalogue.Entry(Catalogue.TPCH + "-q" + number, QueryText.title(number), () -> new TpchQuery(number),
        TpchTables.ROWS_AT_SCALE_1, TpchTables.ROW_BYTES);
  }
}
