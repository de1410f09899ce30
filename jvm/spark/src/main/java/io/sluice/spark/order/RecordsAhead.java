package io.sluice.spark.order;

import io.sluice.spark.record.ObjectKeyTable;
import scala.Product2;
import scala.Tuple2;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/**
 * Records, some of which are taken from their iterator before they are used, so that their keys can be looked for
 * together. A job may change a value that it handed out when it is asked for the next record, as Hadoop's readers do;
 * so nothing is taken behind a value that can change. A key cannot, because Spark's own map keeps it too.
 *
 * <p>As an iterator this gives what was taken and not used, and then the rest. One thread.
 */
final class RecordsAhead<K, V> extends AbstractIterator<Product2<K, V>> {
  private static final int LONGEST_TEXT = 256;

  private final Iterator<? extends Product2<K, V>> records;
  private final Object[] keys = new Object[ObjectKeyTable.AT_ONCE];
  private final Object[] values = new Object[ObjectKeyTable.AT_ONCE];
  private int used;
  private int count;

  RecordsAhead(Iterator<? extends Product2<K, V>> records) {
    this.records = records;
  }

  /** Takes records, at most {@link ObjectKeyTable#AT_ONCE}; for when all that were taken before are used. */
  void take() {
    used = 0;
    count = 0;
    boolean more = true;
    while (more && count < keys.length && records.hasNext()) {
      Product2<K, V> record = records.next();
      V value = record._2();
      keys[count] = record._1();
      values[count++] = value;
      more = isSmallAndImmutable(value);
    }
  }

  /** Whether more records may be taken before {@code value} is used: it cannot change, and many like it are no load. */
  static boolean isSmallAndImmutable(Object value) {
    if (value == null || value instanceof Boolean || value instanceof Character) {
      return true;
    }
    if (value instanceof Number) {
      return isNumber(value.getClass());
    }
    if (value instanceof String text) {
      return text.length() <= LONGEST_TEXT;
    }
    return value.getClass() == Tuple2.class && isSmallAndImmutable(((Tuple2<?, ?>) value)._1())
        && isSmallAndImmutable(((Tuple2<?, ?>) value)._2());
  }

  /** Whether it is one of Java's numbers: other classes are users', and Java's atomic ones. */
  private static boolean isNumber(Class<?> type) {
    return type == Integer.class || type == Long.class || type == Double.class || type == Float.class
        || type == Short.class || type == Byte.class;
  }

  /** How many records were taken and not used. */
  int taken() {
    return count - used;
  }

  /** The keys of the records that the last {@link #take} took, from 0. */
  Object[] keys() {
    return keys;
  }

  /** The value of the next of the records that were taken, which is used with this. */
  @SuppressWarnings("unchecked") // The array holds values.
  V useValue() {
    return (V) values[used++];
  }

  @Override
  public boolean hasNext() {
    return used < count || records.hasNext();
  }

  @Override
  @SuppressWarnings("unchecked") // The array holds keys.
  public Product2<K, V> next() {
    return used < count ? new Tuple2<>((K) keys[used], useValue()) : records.next();
  }
}
