package io.sluice.spark.decode;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import scala.Function1;
import scala.Product2;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/**
 * The rows of a reduce task with the function that Spark maps them with. To anybody else this is an iterator of what
 * the function makes. A consumer that wants columns, for which that are the rows themselves, calls {@link #takeBatches}
 * instead, before it asks for a row. One consumer.
 */
public final class MappedRows<T> extends AbstractIterator<T> {
  private final RowIterator rows;
  private final Function1<Product2<Object, UnsafeRow>, T> function;

  MappedRows(RowIterator rows, Function1<Product2<Object, UnsafeRow>, T> function) {
    this.rows = rows;
    this.function = function;
  }

  @Override
  public boolean hasNext() {
    return rows.hasNext();
  }

  @Override
  public T next() {
    return function.apply(rows.next());
  }

  /**
   * The rows as batches of columns; no rows are given any more. Null where a row was asked for before, and where this
   * process has no native core or no columns of such types.
   *
   * @param schema the rows' columns
   * @param mostRows of a batch
   */
  public Iterator<ColumnarBatch> takeBatches(StructType schema, int mostRows) {
    return rows.takeBatches(schema, mostRows);
  }
}
