package io.sluice.spark.order;

import java.util.NoSuchElementException;
import scala.Function1;
import scala.Function2;
import scala.Product2;
import scala.Tuple2;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/**
 * Combines the records whose key is null, so that Spark's {@code ExternalAppendOnlyMap} gets none. That map writes null
 * before all other keys of a spill, although these are in the order of their hashes, which may be less than null's 0;
 * when it merges spills it then gives keys twice. In map tasks stock has no null there: its keys are pairs. One thread.
 */
final class NullKeyCombiner<K, V, C> {
  private final Function1<V, C> create;
  private final Function2<C, V, C> add;
  private boolean isThere;
  private C combiner;

  /** @param create and {@code add} are given to Spark's map too */
  NullKeyCombiner(Function1<V, C> create, Function2<C, V, C> add) {
    this.create = create;
    this.add = add;
  }

  /** The records that have a key; the others are combined as they come. */
  Iterator<Product2<K, V>> takeFrom(Iterator<? extends Product2<K, V>> records) {
    return new AbstractIterator<>() {
      private Product2<K, V> next;

      @Override
      public boolean hasNext() {
        while (next == null && records.hasNext()) {
          Product2<K, V> record = records.next();
          if (record._1() == null) {
            combine(record._2());
          } else {
            next = record;
          }
        }
        return next != null;
      }

      @Override
      public Product2<K, V> next() {
        if (!hasNext()) {
          throw new NoSuchElementException("no more records with a key");
        }
        Product2<K, V> record = next;
        next = null;
        return record;
      }
    };
  }

  private void combine(V value) {
    combiner = isThere ? add.apply(combiner, value) : create.apply(value);
    isThere = true;
  }

  /** The record of null, if there is one, then those of {@code others}: so they are in Spark's map without spills. */
  Iterator<Product2<K, C>> addTo(Iterator<? extends Product2<K, C>> others) {
    return new AbstractIterator<>() {
      private boolean nullIsLeft = isThere;

      @Override
      public boolean hasNext() {
        return nullIsLeft || others.hasNext();
      }

      @Override
      public Product2<K, C> next() {
        if (nullIsLeft) {
          nullIsLeft = false;
          Product2<K, C> record = new Tuple2<>(null, combiner);
          combiner = null;
          return record;
        }
        return others.next();
      }
    };
  }
}
