package io.sluice.spark.order;

import io.sluice.spark.SluiceException;
import io.sluice.spark.record.DistinctKeys;
import java.util.NoSuchElementException;
import java.util.function.Supplier;
import org.apache.spark.TaskContext;
import org.apache.spark.memory.MemoryConsumer;
import org.apache.spark.memory.MemoryMode;
import org.apache.spark.util.collection.ExternalAppendOnlyMap;
import scala.Product2;
import scala.Tuple2;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/**
 * Hands out combined records. While it does, the task's other operators may need the memory:
 * then Spark's map writes what was not handed out to disk and reads it back, as it does with its own records.
 *
 * <p>The consumer takes a chunk of records at a time under the object's monitor, and has them for itself. One consumer;
 * {@link #spill} on any thread.
 */
final class CombinedInMemory<K, C> extends AbstractIterator<Product2<K, C>> {
  private static final int CHUNK = 64;

  private final CombinerMemory memory;
  private final TaskContext context;
  private final Supplier<ExternalAppendOnlyMap<K, C, C>> sparkMap;
  private final Object[] chunk = new Object[CHUNK];
  private int chunkNext;
  private int chunkEnd;
  /** Null when all was handed out or spilled. */
  private DistinctKeys keys;
  private Object[] combiners;
  /** Null for that of the numbers. */
  private int[] order;
  private int next;
  /** Null as long as nothing was spilled. */
  private volatile Iterator<? extends Product2<K, C>> spilled;
  /** Whether a spill failed half-way, so that records are lost. */
  private boolean broken;

  /**
   * @param order numbers of the keys; null for that of the numbers
   * @param sparkMap makes an empty map, which is given nothing but what it spills
   */
  CombinedInMemory(DistinctKeys keys, Object[] combiners, int[] order, CombinerMemory memory, TaskContext context,
      Supplier<ExternalAppendOnlyMap<K, C, C>> sparkMap) {
    this.keys = keys;
    this.combiners = combiners;
    this.order = order;
    this.memory = memory;
    this.context = context;
    this.sparkMap = sparkMap;
  }

  @Override
  public boolean hasNext() {
    return chunkNext < chunkEnd || takeChunk();
  }

  @Override
  @SuppressWarnings("unchecked") // The chunk holds records.
  public Product2<K, C> next() {
    if (chunkNext == chunkEnd && !takeChunk()) {
      throw new NoSuchElementException("no more combined records in this shuffle partition");
    }
    Object record = chunk[chunkNext];
    chunk[chunkNext++] = null;
    return (Product2<K, C>) record;
  }

  private boolean takeChunk() {
    chunkNext = 0;
    chunkEnd = 0;
    if (takeFromMemory()) {
      // Not under the monitor: spills take it while they hold Spark's lock of the task's memory.
      memory.release();
    }
    Iterator<? extends Product2<K, C>> rest = spilled;
    if (rest != null) {
      while (chunkEnd < CHUNK && rest.hasNext()) {
        chunk[chunkEnd++] = rest.next();
      }
    }
    return chunkEnd > 0;
  }

  /** Whether nothing is left in memory. */
  private synchronized boolean takeFromMemory() {
    if (broken) {
      throw new SluiceException("task attempt " + context.taskAttemptId()
          + " could not write combined shuffle records to disk: see the log for the reason");
    }
    while (spilled == null && chunkEnd < CHUNK && isInMemory()) {
      chunk[chunkEnd++] = takeNext();
    }
    return !isInMemory();
  }

  private boolean isInMemory() {
    if (keys != null && next == keys.size()) {
      forget();
    }
    return keys != null;
  }

  @SuppressWarnings("unchecked") // Keys and combiners are the shuffle's.
  private Tuple2<K, C> takeNext() {
    int number = order == null ? next : order[next];
    next++;
    return new Tuple2<>((K) keys.key(number), (C) combiners[number]);
  }

  private void forget() {
    keys = null;
    combiners = null;
    order = null;
  }

  /**
   * Writes what was not handed out to disk. As Spark's map, for operators that work on the heap, and not where Spark's
   * binary rows are outside of it.
   *
   * @return bytes of memory that were given back
   */
  synchronized long spill(long bytes, MemoryConsumer trigger) {
    if (broken || spilled != null || !isInMemory()
        || context.taskMemoryManager().getTungstenMemoryMode() != MemoryMode.ON_HEAP) {
      return 0;
    }
    ExternalAppendOnlyMap<K, C, C> map = sparkMap.get();
    broken = true;
    Iterator<Tuple2<K, C>> rest = map.destructiveIterator(new AbstractIterator<>() {
      @Override
      public boolean hasNext() {
        return next < keys.size();
      }

      @Override
      public Tuple2<K, C> next() {
        return takeNext();
      }
    });
    map.spill(bytes, trigger);
    broken = next < keys.size();
    spilled = rest;
    forget();
    long held = memory.heldBytes();
    context.taskMetrics().incMemoryBytesSpilled(held);
    context.taskMetrics().incDiskBytesSpilled(map.diskBytesSpilled());
    memory.release();
    return held;
  }
}
