package io.sluice.spark.read;

import io.sluice.spark.SluiceException;
import io.sluice.spark.compat.SparkLine;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import io.sluice.spark.record.RecordDecoder;
import io.sluice.spark.record.RecordIterator;
import java.io.IOException;
import java.util.Optional;
import org.apache.spark.Aggregator;
import org.apache.spark.InterruptibleIterator;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.TaskContext;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.util.collection.ExternalSorter;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Function1;
import scala.Option;
import scala.Product2;
import scala.collection.Iterator;
import scala.math.Ordering;

/**
 * What a shuffle asks of its reduce side: combining records by key, sorting them by key, both or neither. Spark's
 * own classes do it, as behind Spark's own reader, so results, order, spilling and metrics are Spark's. Only where
 * records are just sorted, by an order that numbers can stand for, they are sorted as rows ({@link RecordSorter}).
 *
 * <p>Used once, by one thread.
 */
final class ReduceSide<K, V, C> {
  private static final Logger LOG = LoggerFactory.getLogger(ReduceSide.class);

  private final ShuffleDependency<K, V, C> dependency;
  private final TaskContext context;
  private final Counters counters;
  private final Iterator<Product2<Object, UnsafeRow>> rows;
  private final RecordIterator<K, Object> records;

  ReduceSide(ShuffleDependency<K, V, C> dependency, Iterator<Product2<Object, UnsafeRow>> rows, TaskContext context,
      ShuffleReadMetricsReporter metrics, Counters counters) {
    this.dependency = dependency;
    this.context = context;
    this.counters = counters;
    this.rows = rows;
    this.records = new RecordIterator<>(rows, dependency.serializer(), metrics);
  }

  /** The result of the shuffle; takes all rows at once where they must be sorted or combined. */
  @SuppressWarnings("unchecked") // Without an aggregator, values are what the shuffle gives.
  Iterator<Product2<K, C>> records() {
    if (dependency.keyOrdering().isDefined()) {
      return new InterruptibleIterator<>(context, sorted(dependency.keyOrdering().get()));
    }
    if (dependency.aggregator().isDefined()) {
      return new InterruptibleIterator<>(context, combined(dependency.aggregator().get()));
    }
    return (Iterator<Product2<K, C>>) (Iterator<?>) records;
  }

  @SuppressWarnings("unchecked") // Whether values are V or C depends on mapSideCombine, which the types do not know.
  private Iterator<Product2<K, C>> combined(Aggregator<K, V, C> aggregator) {
    Iterator<?> untyped = records;
    return (Iterator<Product2<K, C>>) (Iterator<?>) (dependency.mapSideCombine()
        ? aggregator.combineCombinersByKey((Iterator<Product2<K, C>>) untyped, context)
        : aggregator.combineValuesByKey((Iterator<Product2<K, V>>) untyped, context));
  }

  private Iterator<Product2<K, C>> sorted(Ordering<K> ordering) {
    if (dependency.aggregator().isDefined()) {
      return objectSorter().insertAllAndUpdateMetrics(records);
    }
    try {
      return sortedAsRows(ordering);
    } catch (IOException e) {
      throw new SluiceException("sorting shuffle records by key failed: " + e.getMessage(), e);
    }
  }

  /** Sorts rows as long as they allow it; from the first that does not, everything is sorted as objects. */
  private Iterator<Product2<K, C>> sortedAsRows(Ordering<K> ordering) throws IOException {
    RecordDecoder decoder = new RecordDecoder();
    RecordSorter<K, C> sorter = null;
    while (rows.hasNext()) {
      UnsafeRow row = rows.next()._2();
      boolean serialized = decoder.serializedRecords(row) > 0;
      if (sorter == null && !serialized) {
        Optional<KeyOrder> order = KeyOrder.of(ordering, decoder.key(row));
        LOG.debug("Shuffle {} sorts {}: ordering {}", dependency.shuffleId(),
            order.isPresent() ? "rows" : "objects, because Sluice does not know its order", ordering.getClass().getName());
        sorter = order.isEmpty() ? null : new RecordSorter<>(context, ordering, order.get());
      }
      if (sorter == null || serialized) {
        records.putBack(row);
        return sortedAsObjects(sorter);
      }
      sorter.insert(row);
    }
    if (sorter == null) {
      return sortedAsObjects(null);
    }
    counters.increment(Counter.READ_PARTITIONS_SORTED_AS_ROWS);
    return sorter.sorted();
  }

  @SuppressWarnings("unchecked") // Without an aggregator, values are what the shuffle gives.
  private Iterator<Product2<K, C>> sortedAsObjects(RecordSorter<K, C> before) throws IOException {
    ExternalSorter<K, Object, C> sorter = objectSorter();
    if (before != null) {
      sorter.insertAll((Iterator<Product2<K, Object>>) (Iterator<?>) before.sorted());
    }
    return sorter.insertAllAndUpdateMetrics((Iterator<Product2<K, Object>>) (Iterator<?>) records);
  }

  private ExternalSorter<K, Object, C> objectSorter() {
    return SparkLine.externalSorter(context, combining(), dependency.keyOrdering(), dependency.serializer());
  }

  /** The aggregator of a sorter: one that merges combiners where map tasks have made such. */
  @SuppressWarnings("unchecked") // As in combined().
  private Option<Aggregator<K, Object, C>> combining() {
    Option<?> aggregator = dependency.aggregator();
    if (dependency.aggregator().isDefined() && dependency.mapSideCombine()) {
      Aggregator<K, V, C> ofValues = dependency.aggregator().get();
      Function1<C, C> same = combiner -> combiner;
      aggregator = Option.apply(new Aggregator<K, C, C>(same, ofValues.mergeCombiners(), ofValues.mergeCombiners()));
    }
    return (Option<Aggregator<K, Object, C>>) aggregator;
  }
}
