package io.sluice.spark.exchange;

import org.apache.spark.sql.catalyst.InternalRow;
import scala.Function1;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/**
 * The rows of one task that an exchange maps to pairs of partition and row. {@link #map} returns {@link
 * PartitionedRows}, which has the rows and the mapping function. One thread.
 */
final class ExchangeRows extends AbstractIterator<InternalRow> {
  private final Iterator<? extends InternalRow> rows;
  private final PartitionFinder finder;
  /** Null where batches cannot be taken. */
  private final BatchDivision division;

  /** @param division how batches are divided where the rows are {@link BatchedRows}; null where they cannot be */
  ExchangeRows(Iterator<? extends InternalRow> rows, PartitionFinder finder, BatchDivision division) {
    this.rows = rows;
    this.finder = finder;
    this.division = division;
  }

  @Override
  public boolean hasNext() {
    return rows.hasNext();
  }

  @Override
  public InternalRow next() {
    return rows.next();
  }

  /** The result's elements are those of any iterator's {@code map}: the function's results. */
  @Override
  public <T> Iterator<T> map(Function1<InternalRow, T> function) {
    return new PartitionedRows<>(rows, function, finder, division);
  }
}
