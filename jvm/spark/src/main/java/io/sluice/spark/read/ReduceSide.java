package io.sluice.spark.read;

import io.sluice.spark.compat.SparkLine;
import org.apache.spark.Aggregator;
import org.apache.spark.InterruptibleIterator;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.TaskContext;
import org.apache.spark.util.collection.ExternalSorter;
import scala.Function1;
import scala.Option;
import scala.Product2;
import scala.collection.Iterator;

/**
 * What a shuffle asks of its reduce side: combining records by key, sorting them by key, both or neither. Spark's
 * own classes do it, as behind Spark's own reader, so results, order, spilling and metrics are Spark's.
 */
final class ReduceSide {
  private ReduceSide() {}

  /** The result of the shuffle from the records of its blocks; consumes them at once where they must be sorted. */
  static <K, V, C> Iterator<Product2<K, C>> of(
      ShuffleDependency<K, V, C> dependency, Iterator<Product2<K, Object>> records, TaskContext context) {
    Iterator<Product2<K, C>> result = unguarded(dependency, records, context);
    return isPlain(dependency) ? result : new InterruptibleIterator<>(context, result);
  }

  private static boolean isPlain(ShuffleDependency<?, ?, ?> dependency) {
    return dependency.keyOrdering().isEmpty() && dependency.aggregator().isEmpty();
  }

  @SuppressWarnings("unchecked") // Whether values are V or C depends on mapSideCombine, which the types do not know.
  private static <K, V, C> Iterator<Product2<K, C>> unguarded(
      ShuffleDependency<K, V, C> dependency, Iterator<Product2<K, Object>> records, TaskContext context) {
    if (dependency.keyOrdering().isDefined()) {
      ExternalSorter<K, Object, C> sorter = SparkLine.externalSorter(
          context, combining(dependency), dependency.keyOrdering(), dependency.serializer());
      return sorter.insertAllAndUpdateMetrics(records);
    }
    if (dependency.aggregator().isEmpty()) {
      return (Iterator<Product2<K, C>>) (Iterator<?>) records;
    }
    Aggregator<K, V, C> aggregator = dependency.aggregator().get();
    Iterator<?> untyped = records;
    return (Iterator<Product2<K, C>>) (Iterator<?>) (dependency.mapSideCombine()
        ? aggregator.combineCombinersByKey((Iterator<Product2<K, C>>) untyped, context)
        : aggregator.combineValuesByKey((Iterator<Product2<K, V>>) untyped, context));
  }

  /** The aggregator of a sorter: one that merges combiners where map tasks have made such. */
  @SuppressWarnings("unchecked")
  private static <K, V, C> Option<Aggregator<K, Object, C>> combining(ShuffleDependency<K, V, C> dependency) {
    Option<?> aggregator = dependency.aggregator();
    if (dependency.aggregator().isDefined() && dependency.mapSideCombine()) {
      Aggregator<K, V, C> ofValues = dependency.aggregator().get();
      Function1<C, C> same = combiner -> combiner;
      aggregator = Option.apply(new Aggregator<K, C, C>(same, ofValues.mergeCombiners(), ofValues.mergeCombiners()));
    }
    return (Option<Aggregator<K, Object, C>>) aggregator;
  }
}
