package io.sluice.spark.order;

import org.apache.spark.Aggregator;
import scala.Function1;
import scala.Function2;

/**
 * The functions that combine the values of a key. They are the user's.
 *
 * @param create makes the combiner of a key's first value
 * @param add adds each other value to the combiner
 * @param merge joins two combiners of a key that were made apart
 */
public record Combining<V, C>(Function1<V, C> create, Function2<C, V, C> add, Function2<C, C, C> merge) {
  /** Of records whose values are not combined yet. */
  public static <K, V, C> Combining<V, C> ofValues(Aggregator<K, V, C> aggregator) {
    return new Combining<>(aggregator.createCombiner(), aggregator.mergeValue(), aggregator.mergeCombiners());
  }

  /** Of records that map tasks have combined. */
  public static <K, V, C> Combining<C, C> ofCombiners(Aggregator<K, V, C> aggregator) {
    return new Combining<>(combiner -> combiner, aggregator.mergeCombiners(), aggregator.mergeCombiners());
  }
}
