package io.sluice.spark.exchange;

import org.apache.spark.sql.catalyst.InternalRow;
import scala.Function1;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/** The rows of one task that an exchange maps to pairs; the result of {@link #map} knows both. One thread. */
final class ExchangeRows extends AbstractIterator<InternalRow> {
  private final Iterator<? extends InternalRow> rows;
  private final PartitionFinder finder;

  ExchangeRows(Iterator<? extends InternalRow> rows, PartitionFinder finder) {
    this.rows = rows;
    this.finder = finder;
  }

  @Override
  public boolean hasNext() {
    return rows.hasNext();
  }

  @Override
  public InternalRow next() {
    return rows.next();
  }

  /** As an iterator it is what any iterator's {@code map} returns. */
  @Override
  public <T> Iterator<T> map(Function1<InternalRow, T> function) {
    return new PartitionedRows<>(rows, function, finder);
  }
}
