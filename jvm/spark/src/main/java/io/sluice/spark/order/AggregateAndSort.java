package io.sluice.spark.order;

import io.sluice.spark.compat.SparkLine;
import io.sluice.spark.executor.ExecutorState;
import io.sluice.spark.executor.OrderGuesses;
import io.sluice.spark.gpu.GpuPairSorter;
import io.sluice.spark.memory.TaskMemory;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import io.sluice.spark.record.RecordIterator;
import io.sluice.spark.record.RowKey;
import java.io.IOException;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import org.apache.spark.InterruptibleIterator;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.TaskContext;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.util.collection.ExternalSorter;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Option;
import scala.Product2;
import scala.collection.Iterator;
import scala.math.Ordering;

/**
 * The reduce side of an RDD's shuffle: combines records by key, sorts them by key, both or neither. Records are
 * combined by the bytes of their keys ({@link RecordCombiner}). Records that are sorted without being combined are
 * sorted as rows: by an order that is known ({@link RecordSorter}), or by one that is guessed and then proven
 * ({@link ProvenSorter}). Everything else, and what does not fit the memory, is left to Spark's own classes, as in
 * Spark's own reader.
 *
 * <p>Used once, by one thread.
 */
public final class AggregateAndSort<K, V, C> {
  private static final Logger LOG = LoggerFactory.getLogger(AggregateAndSort.class);

  private final ShuffleDependency<K, V, C> dependency;
  private final TaskContext context;
  private final TaskMemory memory;
  private final long residentBytes;
  private final Counters counters;
  private final OrderGuesses guesses;
  private final GpuPairSorter gpu;
  private final Iterator<Product2<Object, UnsafeRow>> rows;
  private final RecordIterator<K, Object> records;
  private final BooleanSupplier insideTask;

  /**
   * @param counters where the reader counts
   * @param insideTask whether the calling thread is one that ends its work before the task's listeners run
   */
  public AggregateAndSort(ShuffleDependency<K, V, C> dependency, Iterator<Product2<Object, UnsafeRow>> rows,
      TaskContext context,
      ShuffleReadMetricsReporter metrics, ExecutorState executor, Counters counters, BooleanSupplier insideTask) {
    this.dependency = dependency;
    this.context = context;
    this.memory = executor.memory().of(context);
    this.residentBytes = executor.settings().memory().sortBytes(executor.settings().cores().tasks());
    this.counters = counters;
    this.guesses = executor.orderGuesses();
    this.gpu = GpuPairSorter.of(executor.gpu(), context);
    this.insideTask = insideTask;
    this.rows = rows;
    this.records = new RecordIterator<>(rows, dependency.serializer(), metrics);
  }

  /** The result of the shuffle; takes all rows at once where they must be sorted or combined. */
  public Iterator<Product2<K, C>> records() {
    if (dependency.keyOrdering().isDefined()) {
      return new InterruptibleIterator<>(context, sorted(dependency.keyOrdering().get()));
    }
    if (dependency.aggregator().isDefined()) {
      return new InterruptibleIterator<>(context, combined());
    }
    return new InterruptibleIterator<>(context, plain());
  }

  private Iterator<Product2<K, C>> combined() {
    return CombinedRecords.of(dependency, rows, records, context, counters);
  }

  private Iterator<Product2<K, C>> sorted(Ordering<K> ordering) {
    try {
      if (dependency.aggregator().isDefined()) {
        // In two steps: one sorter that does both would not combine equal keys that the ordering does not put together.
        return sortedAsObjects(combined());
      }
      return insideTask.getAsBoolean() ? sortedAsRows(ordering) : sortedAsObjects(plain());
    } catch (IOException e) {
      // Not wrapped: the job's comparator or readObject may have thrown it, and stock fails with that very exception.
      throw SparkLine.unchecked(e);
    }
  }

  /**
   * Sorts rows as long as they allow it; from the first that does not, everything is sorted as objects. Only on a
   * thread that ends before the task does, because the end of the task frees the sorter's memory.
   */
  private Iterator<Product2<K, C>> sortedAsRows(Ordering<K> ordering) throws IOException {
    RowKey key = new RowKey();
    RowSorter<K, C> sorter = null;
    while (rows.hasNext()) {
      UnsafeRow row = rows.next()._2();
      key.pointTo(row.getBaseObject(), row.getBaseOffset(), row.getSizeInBytes());
      if (sorter == null) {
        sorter = sorter(ordering, key);
      }
      if (sorter == null || !sorter.insert(row, key)) {
        records.putBack(row);
        return sortedAsObjects(sorter);
      }
    }
    if (sorter == null) {
      // There was no row.
      return plain();
    }
    Optional<Iterator<Product2<K, C>>> sorted = sorter.sorted();
    if (!sorted.isPresent()) {
      return sortedAsObjects(sorter);
    }
    counters.increment(Counter.READ_PARTITIONS_SORTED_AS_ROWS);
    return sorted.get();
  }

  /** A sorter for keys like {@code sample}; null when they must be sorted as objects. */
  private RowSorter<K, C> sorter(Ordering<K> ordering, RowKey sample) {
    Optional<KeyOrder> order = KeyOrders.of(ordering, sample);
    Optional<OrderGuess> guess = order.isPresent() || !guesses.areWorthwhile(dependency.shuffleId())
        ? Optional.empty() : OrderGuess.of(sample);
    LOG.debug("Shuffle {} sorts {}: ordering {}", dependency.shuffleId(),
        order.isPresent() ? "rows" : guess.isPresent() ? "rows by a guess of its order"
            : "objects, because Sluice does not know its order",
        ordering.getClass().getName());
    if (order.isPresent()) {
      return new RecordSorter<>(context, memory, residentBytes, order.get(), counters, gpu);
    }
    return guess.isPresent() ? new ProvenSorter<>(context, memory, residentBytes, ordering, guess.get(), counters, gpu,
        () -> guesses.refuted(dependency.shuffleId())) : null;
  }

  @SuppressWarnings("unchecked") // Without an aggregator, values are what the shuffle gives.
  private Iterator<Product2<K, C>> plain() {
    return (Iterator<Product2<K, C>>) (Iterator<?>) records;
  }

  private ExternalSorter<K, C, C> objectSorter() {
    counters.increment(Counter.READ_PARTITIONS_SORTED_AS_OBJECTS);
    return SparkLine.externalSorter(context, Option.empty(), dependency.keyOrdering(), dependency.serializer());
  }

  private Iterator<Product2<K, C>> sortedAsObjects(Iterator<Product2<K, C>> unsorted) {
    return objectSorter().insertAllAndUpdateMetrics(unsorted);
  }

  private Iterator<Product2<K, C>> sortedAsObjects(RowSorter<K, C> before) throws IOException {
    ExternalSorter<K, C, C> sorter = objectSorter();
    if (before != null) {
      sorter.insertAll(before.taken());
    }
    return sorter.insertAllAndUpdateMetrics(plain());
  }
}
