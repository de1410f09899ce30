package io.sluice.spark.order;

import org.apache.spark.Aggregator;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.TaskContext;
import scala.Product2;
import scala.collection.Iterator;

/** Combines the records of a reduce task by key with the shuffle's aggregator, as Spark's own reader does. */
public final class CombinedRecords {
  private CombinedRecords() {}

  /**
   * One record for each key.
   *
   * @param records of values, or of combined values when the map side has combined already
   */
  @SuppressWarnings("unchecked") // Whether values are V or C depends on mapSideCombine, which the types do not know.
  public static <K, V, C> Iterator<Product2<K, C>> of(
      ShuffleDependency<K, V, C> dependency, Iterator<?> records, TaskContext context) {
    Aggregator<K, V, C> aggregator = dependency.aggregator().get();
    return (Iterator<Product2<K, C>>) (Iterator<?>) (dependency.mapSideCombine()
        ? aggregator.combineCombinersByKey((Iterator<Product2<K, C>>) records, context)
        : aggregator.combineValuesByKey((Iterator<Product2<K, V>>) records, context));
  }
}
