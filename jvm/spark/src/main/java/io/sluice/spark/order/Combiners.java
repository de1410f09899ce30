package io.sluice.spark.order;

import io.sluice.spark.record.DistinctKeys;
import java.util.Arrays;
import java.util.NoSuchElementException;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.memory.MemoryConsumer;
import org.apache.spark.serializer.Serializer;
import org.apache.spark.util.SizeEstimator;
import org.apache.spark.util.collection.ExternalAppendOnlyMap;
import scala.Function1;
import scala.Function2;
import scala.Product2;
import scala.Tuple2;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/**
 * The combiners of a task's keys, in memory. A hash table of the keys gives each a number, and the combiners are in an
 * array by number. Values are combined in the order in which they come, each by one call of a function of the user, as
 * in Spark's map. When Spark's memory is short, {@link #moveToSpark} gives everything to Spark's {@code
 * ExternalAppendOnlyMap}, which spills.
 *
 * <p>One thread until {@link #records}; then a thread that needs memory may spill.
 */
final class Combiners<K, V, C> {
  private static final int FIRST_KEYS = 32;

  private final Combining<V, C> functions;
  private final Serializer serializer;
  private final TaskContext context;
  private final CombinerMemory memory;
  /** Null, as the combiners, when values are no longer combined: the task's listeners keep this object. */
  private DistinctKeys keys;
  private Object[] combiners = new Object[FIRST_KEYS];
  /** Null as long as values are combined. */
  private volatile CombinedInMemory<K, C> records;

  /** A combiner in place of a value: what {@link #moveToSpark} gives to Spark's map first. */
  private record Partial(Object combiner) {}

  /** @param serializer for what Spark's map spills */
  Combiners(DistinctKeys keys, Combining<V, C> functions, Serializer serializer, TaskContext context) {
    this.keys = keys;
    this.functions = functions;
    this.serializer = serializer;
    this.context = context;
    this.memory = new CombinerMemory(context, this::estimatedBytes, this::spill);
  }

  /**
   * Combines a value.
   *
   * @param found the number of its key; of a new key the bitwise complement
   * @param rowBytes of the record's row; 0 if it was none
   * @return false when this must take no more values
   */
  @SuppressWarnings("unchecked") // The array holds what the functions return.
  boolean combine(int found, V value, int rowBytes) {
    if (found >= 0) {
      combiners[found] = functions.add().apply((C) combiners[found], value);
    } else {
      int number = ~found;
      if (number >= combiners.length) {
        combiners = Arrays.copyOf(combiners, 2 * combiners.length);
      }
      combiners[number] = functions.create().apply(value);
    }
    return memory.covers(rowBytes);
  }

  private long estimatedBytes() {
    return keys.heapBytes() + SizeEstimator.estimate(new Object[] {keys.objects(), combiners});
  }

  /**
   * The combined records. No more values are combined.
   *
   * @param likeSpark whether they are in the order that Spark's map has, unless they are too many for that; else they
   *     are in the order in which their keys came
   */
  Iterator<Product2<K, C>> records(boolean likeSpark) {
    context.taskMetrics().incPeakExecutionMemory(memory.peakBytes());
    int[] order = likeSpark && keys.size() <= SparkMapOrder.MOST_KEYS ? SparkMapOrder.of(keys) : null;
    records = new CombinedInMemory<>(keys, combiners, order, memory, context, this::emptySparkMap);
    keys = null;
    combiners = null;
    return records;
  }

  /** The task's other operators need memory. */
  private long spill(long bytes, MemoryConsumer trigger) {
    CombinedInMemory<K, C> reading = records;
    if (reading != null) {
      return reading.spill(bytes, trigger);
    }
    // Values are being combined, perhaps on this thread: nothing can be written now.
    memory.askToEnd();
    return 0;
  }

  /** A map that only reads and spills what it is given. */
  private ExternalAppendOnlyMap<K, C, C> emptySparkMap() {
    SparkEnv env = SparkEnv.get();
    return new ExternalAppendOnlyMap<>(combiner -> combiner, functions.merge(), functions.merge(), serializer,
        env.blockManager(), context, env.serializerManager());
  }

  /** Combines {@code rest} and what was combined before in Spark's map, which spills when it must. */
  Iterator<Product2<K, C>> moveToSpark(Iterator<? extends Product2<K, V>> rest) {
    memory.release();
    return inSparkMap(taken(), rest, functions, serializer, context);
  }

  /**
   * What was combined, in the order of the keys. Each is forgotten when it is taken, and the table after the last one:
   * whoever still refers to the iterator must not keep them, when Spark's map counts the same memory again.
   */
  private Iterator<Product2<K, Object>> taken() {
    DistinctKeys all = keys;
    Object[] values = combiners;
    keys = null;
    combiners = null;
    return new Taken<>(all, values);
  }

  private static final class Taken<K> extends AbstractIterator<Product2<K, Object>> {
    private DistinctKeys keys;
    private Object[] combiners;
    private int next;

    Taken(DistinctKeys keys, Object[] combiners) {
      this.keys = keys;
      this.combiners = combiners;
    }

    @Override
    public boolean hasNext() {
      if (keys != null && next == keys.size()) {
        keys.clear();
        keys = null;
        combiners = null;
      }
      return keys != null;
    }

    @Override
    @SuppressWarnings("unchecked") // The keys are the records'.
    public Product2<K, Object> next() {
      if (!hasNext()) {
        throw new NoSuchElementException("no more combined records");
      }
      Object combiner = combiners[next];
      combiners[next] = null;
      return new Tuple2<>((K) keys.key(next++), new Partial(combiner));
    }
  }

  /** Combines records as stock does. */
  static <K, V, C> Iterator<Product2<K, C>> inSparkMap(Iterator<? extends Product2<K, V>> records,
      Combining<V, C> functions, Serializer serializer, TaskContext context) {
    return inSparkMap(null, records, functions, serializer, context);
  }

  /** @param before combiners, one of each key; null for none */
  @SuppressWarnings("unchecked") // A pair of Spark's is a product; values of partial combiners are told apart.
  private static <K, V, C> Iterator<Product2<K, C>> inSparkMap(Iterator<Product2<K, Object>> before,
      Iterator<? extends Product2<K, V>> records, Combining<V, C> functions, Serializer serializer,
      TaskContext context) {
    SparkEnv env = SparkEnv.get();
    Function1<Object, C> create =
        value -> value instanceof Partial partial ? (C) partial.combiner() : functions.create().apply((V) value);
    Function2<C, Object, C> add = (combiner, value) -> value instanceof Partial partial
        ? functions.merge().apply(combiner, (C) partial.combiner()) : functions.add().apply(combiner, (V) value);
    NullKeyCombiner<K, Object, C> ofNull = new NullKeyCombiner<>(create, add);
    ExternalAppendOnlyMap<K, Object, C> map = new ExternalAppendOnlyMap<>(create, add, functions.merge(), serializer,
        env.blockManager(), context, env.serializerManager());
    if (before != null) {
      map.insertAll(ofNull.takeFrom(before));
    }
    map.insertAll(ofNull.takeFrom((Iterator<Product2<K, Object>>) (Iterator<?>) records));
    context.taskMetrics().incMemoryBytesSpilled(map.memoryBytesSpilled());
    context.taskMetrics().incDiskBytesSpilled(map.diskBytesSpilled());
    context.taskMetrics().incPeakExecutionMemory(map.peakMemoryUsedBytes());
    return ofNull.addTo((Iterator<Product2<K, C>>) (Iterator<?>) map.iterator());
  }
}
