package io.sluice.spark.order;

import io.sluice.spark.metrics.Counters;
import io.sluice.spark.record.RecordIterator;
import org.apache.spark.Aggregator;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
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

  /** The same of records that are rows. */
  @SuppressWarnings("unchecked")
  static <K, V, C> Iterator<Product2<K, C>> of(ShuffleDependency<K, V, C> dependency,
      Iterator<Product2<Object, UnsafeRow>> rows, RecordIterator<K, Object> records, TaskContext context,
      Counters counters) {
    Aggregator<K, V, C> aggregator = dependency.aggregator().get();
    Combining<Object, C> functions = (Combining<Object, C>) (Combining<?, C>) (dependency.mapSideCombine()
        ? Combining.ofCombiners(aggregator) : Combining.ofValues(aggregator));
    return new RecordCombiner<K, Object, C>(functions, SparkEnv.get().serializer(), context, counters)
        .combineRows(rows, records);
  }
}
