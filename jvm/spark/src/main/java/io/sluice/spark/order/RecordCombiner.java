package io.sluice.spark.order;

import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import io.sluice.spark.record.ObjectKeyTable;
import io.sluice.spark.record.RecordDecoder;
import io.sluice.spark.record.RecordIterator;
import io.sluice.spark.record.RowKeyTable;
import java.util.function.ToIntFunction;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.serializer.Serializer;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import scala.Product2;
import scala.collection.Iterator;

/**
 * Combines the records of a task by key. Where the records are rows whose keys can be compared by their bytes, no
 * object is made of a record's key; else keys are objects.
 *
 * <p>Everything is in memory. When Spark has no memory for it, or a row comes whose key cannot be compared by its
 * bytes, what was combined and what follows is combined by Spark's {@code ExternalAppendOnlyMap}. Used once, by one
 * thread.
 */
public final class RecordCombiner<K, V, C> {
  /** From so many keys on, the table is larger than a core's cache. */
  private static final int MANY_KEYS = 1 << 13;

  private final Combining<V, C> functions;
  private final Serializer serializer;
  private final TaskContext context;
  private final Counters counters;

  /** @param serializer for what Spark's map spills */
  public RecordCombiner(Combining<V, C> functions, Serializer serializer, TaskContext context, Counters counters) {
    this.functions = functions;
    this.serializer = serializer;
    this.context = context;
    this.counters = counters;
  }

  /**
   * Combines the records of a map task; the result has the keys in the order in which they first came.
   *
   * @param partitions the partition of a key
   */
  public Iterator<Product2<K, C>> combine(
      Iterator<? extends Product2<K, V>> records, ToIntFunction<Object> partitions) {
    return combine(records, new ObjectKeyTable(partitions), false);
  }

  /** Combines records that are objects. */
  private Iterator<Product2<K, C>> combine(
      Iterator<? extends Product2<K, V>> records, ObjectKeyTable keys, boolean likeSpark) {
    if (CombinerMemory.spillsAreForced(SparkEnv.get().conf())) {
      return Combiners.inSparkMap(records, functions, serializer, context);
    }
    Combiners<K, V, C> combiners = new Combiners<>(keys, functions, serializer, context);
    while (records.hasNext()) {
      Product2<K, V> record = records.next();
      if (!combiners.combine(keys.find(record._1()), record._2(), 0) || keys.isFull()) {
        return moveToSpark(combiners, records);
      }
      if (keys.size() >= MANY_KEYS && RecordsAhead.isSmallAndImmutable(record._2())) {
        return combineAhead(keys, combiners, new RecordsAhead<>(records), likeSpark);
      }
    }
    return combiners.records(likeSpark);
  }

  /** Combines the rest of the records, whose keys are looked for together. */
  private Iterator<Product2<K, C>> combineAhead(ObjectKeyTable keys, Combiners<K, V, C> combiners,
      RecordsAhead<K, V> records, boolean likeSpark) {
    int[] numbers = new int[ObjectKeyTable.AT_ONCE];
    boolean room = true;
    while (room && records.hasNext()) {
      try {
        records.take();
      } finally {
        // Also when the job failed to make a record: on stock, a failure to combine one before it would have come
        // first.
        room = combineTaken(keys, combiners, records, numbers);
      }
    }
    return room ? combiners.records(likeSpark) : moveToSpark(combiners, records);
  }

  /** Whether there is room for more. */
  private boolean combineTaken(ObjectKeyTable keys, Combiners<K, V, C> combiners, RecordsAhead<K, V> records,
      int[] numbers) {
    keys.findAll(records.keys(), numbers, records.taken());
    boolean room = true;
    for (int i = 0; room && records.taken() > 0; i++) {
      // A key that was not there may be by now: the records before this one brought it.
      int found = numbers[i] >= 0 ? numbers[i] : keys.find(records.keys()[i]);
      room = combiners.combine(found, records.useValue(), 0) && !keys.isFull();
    }
    return room;
  }

  /**
   * Combines records that are rows. Few keys have the order that Spark's map has, if nothing is spilled; many that in
   * which they first came.
   *
   * @param records the records of {@code rows}, for when objects must be made
   */
  Iterator<Product2<K, C>> combineRows(Iterator<Product2<Object, UnsafeRow>> rows, RecordIterator<K, V> records) {
    if (CombinerMemory.spillsAreForced(SparkEnv.get().conf())) {
      return Combiners.inSparkMap(records, functions, serializer, context);
    }
    RowKeyTable keys = new RowKeyTable();
    RecordDecoder decoder = new RecordDecoder();
    Combiners<K, V, C> combiners = new Combiners<>(keys, functions, serializer, context);
    while (rows.hasNext()) {
      UnsafeRow row = rows.next()._2();
      int found = keys.find(row.getBaseObject(), row.getBaseOffset(), row.getSizeInBytes());
      if (found == RowKeyTable.REFUSED) {
        records.putBack(row);
        return keys.size() == 0 ? combine(records, new ObjectKeyTable(), true) : moveToSpark(combiners, records);
      }
      @SuppressWarnings("unchecked") // The values are of the class that the shuffle's are.
      V value = (V) decoder.value(row.getBaseObject(), row.getBaseOffset(), row.getSizeInBytes());
      if (!combiners.combine(found, value, row.getSizeInBytes())) {
        return moveToSpark(combiners, records);
      }
    }
    counters.increment(Counter.READ_PARTITIONS_COMBINED_AS_ROWS);
    return combiners.records(true);
  }

  private Iterator<Product2<K, C>> moveToSpark(Combiners<K, V, C> combiners,
      Iterator<? extends Product2<K, V>> records) {
    counters.increment(Counter.COMBINED_BY_SPARK);
    return combiners.moveToSpark(records);
  }
}
