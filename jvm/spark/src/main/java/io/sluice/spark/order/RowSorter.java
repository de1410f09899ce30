package io.sluice.spark.order;

import io.sluice.spark.record.RowKey;
import java.io.IOException;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import scala.Product2;
import scala.collection.Iterator;

/** Sorts a partition's records by key as rows. When it cannot go on, Spark's sorter of objects takes over. */
interface RowSorter<K, C> {
  /**
   * Copies a record in; false, with nothing done, when this sorter takes no more.
   *
   * @param key points to {@code row}
   */
  boolean insert(UnsafeRow row, RowKey key) throws IOException;

  /** All records in order, as new objects; call once. Empty when only {@link #taken} can give them. */
  Optional<Iterator<Product2<K, C>>> sorted() throws IOException;

  /** All records that were inserted, as new objects: those with equal keys in the order in which they came. */
  Iterator<Product2<K, C>> taken() throws IOException;
}
