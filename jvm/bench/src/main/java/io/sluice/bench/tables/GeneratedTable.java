package io.sluice.bench.tables;

import java.io.Serializable;
import java.util.Iterator;
import java.util.Optional;

/**
 * A table of a benchmark. Its rows are made by a port of the benchmark's own generator: any part of a table can be made
 * alone, and the rows do not depend on the number of parts.
 */
public interface GeneratedTable extends Serializable {

  /** The name in SQL. */
  String label();

  /** The columns as SQL declares them. */
  String columns();

  /**
   * In how many parts, and so files, the table is made: about 30 MB each at most. It depends on nothing but the
   * scale, so that a cached table is the same whichever run made it.
   */
  int parts(double scale);

  /** The column by whose values a partitioned table has folders; empty for tables that are not partitioned. */
  default Optional<String> partitionColumn() {
    return Optional.empty();
  }

  /** The column by which a bucketed table has buckets; empty for tables that have none. */
  default Optional<String> bucketColumn() {
    return Optional.empty();
  }

  /** The rows of one of {@code parts} parts, counted from 1: decimals as such, dates as days since 1970 (int). */
  Iterator<Object[]> rows(double scale, int part, int parts);
}
