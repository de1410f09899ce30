package io.sluice.spark.order;

import io.sluice.spark.compat.SparkLine;
import io.sluice.spark.gpu.GpuPairSorter;
import io.sluice.spark.memory.TaskMemory;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import io.sluice.spark.record.RowKey;
import java.io.IOException;
import java.util.Optional;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.array.LongArray;
import org.apache.spark.util.TaskCompletionListener;
import org.apache.spark.util.collection.unsafe.sort.PrefixComparators;
import org.apache.spark.util.collection.unsafe.sort.RecordComparator;
import org.apache.spark.util.collection.unsafe.sort.UnsafeExternalSorter;
import org.apache.spark.util.collection.unsafe.sort.UnsafeSorterIterator;
import scala.Product2;
import scala.collection.Iterator;

/**
 * Sorts a partition's records by key as rows, so that the objects of a record are made only once, when it is returned.
 * As long as Sluice's memory has room, rows stay there and references to them are sorted ({@link ReferenceSort}). From
 * then on Spark's sorter of binary rows has all rows, in Spark's execution memory, and spills them when that is short.
 *
 * <p>In memory, equal keys keep the order in which they came. Used by one thread, the task's: it must have ended when
 * the task's completion listeners run, which free the remaining memory. Another thread may read the result.
 */
final class RecordSorter<K, C> implements RowSorter<K, C> {
  private final TaskContext context;
  private final KeyOrder order;
  private final Counters counters;
  private final GpuPairSorter gpu;
  private final ResidentRows resident;
  /** Null as long as all rows are resident. */
  private UnsafeExternalSorter spilling;

  /**
   * @param residentBytes the most of the task's memory that rows may take
   * @param gpu sorts many references
   */
  RecordSorter(TaskContext context, TaskMemory memory, long residentBytes, KeyOrder order, Counters counters,
      GpuPairSorter gpu) {
    this.counters = counters;
    this.gpu = gpu;
    this.context = context;
    this.order = order;
    this.resident = new ResidentRows(memory, residentBytes, false);
    context.addTaskCompletionListener((TaskCompletionListener) ended -> resident.close());
  }

  /** False when its key has no number. */
  @Override
  public boolean insert(UnsafeRow row, RowKey key) throws IOException {
    if (!order.hasPrefix(key)) {
      return false;
    }
    long number = order.prefix(key, 0);
    if (spilling == null) {
      if (resident.add(row.getBaseObject(), row.getBaseOffset(), row.getSizeInBytes(), number)) {
        return true;
      }
      moveToSpark();
    }
    spilling.insertRecord(row.getBaseObject(), row.getBaseOffset(), row.getSizeInBytes(), number, false);
    return true;
  }

  private void moveToSpark() throws IOException {
    counters.increment(Counter.READ_PARTITIONS_SORTED_BY_SPARK);
    spilling = SparkLine.rowSorter(
        context, () -> new KeyComparator(order), PrefixComparators.BINARY, order.canSortFullyWithPrefix(0));
    for (int i = 0; i < resident.size(); i++) {
      long address = resident.address(i);
      spilling.insertRecord(null, address, ResidentRows.bytes(address), resident.number(i), false);
    }
    resident.close();
  }

  /** Whether no row had to move to Spark's sorter. */
  boolean isResident() {
    return spilling == null;
  }

  @Override
  public Optional<Iterator<Product2<K, C>>> sorted() throws IOException {
    return Optional.of(taken());
  }

  /** They are sorted, which keeps the order of equal keys. */
  @Override
  public Iterator<Product2<K, C>> taken() throws IOException {
    if (spilling == null) {
      LongArray scratch = resident.takeScratch();
      if (scratch != null) {
        new ReferenceSort(context, resident, order, scratch, gpu).sort();
        resident.freeScratch();
        context.taskMetrics().incPeakExecutionMemory(resident.peakBytes());
        return new ResidentRecords<>(resident);
      }
      moveToSpark();
    }
    UnsafeSorterIterator rows = spilling.getSortedIterator();
    context.taskMetrics().incPeakExecutionMemory(spilling.getPeakMemoryUsedBytes());
    return new SpilledRecords<>(rows, spilling::cleanupResources);
  }

  /** Compares the keys of two rows, for where their numbers are equal. */
  private static final class KeyComparator extends RecordComparator {
    private final KeyOrder order;
    private final RowKey left = new RowKey();
    private final RowKey right = new RowKey();

    KeyComparator(KeyOrder order) {
      this.order = order;
    }

    @Override
    public int compare(
        Object leftBase, long leftOffset, int leftBytes, Object rightBase, long rightOffset, int rightBytes) {
      left.pointTo(leftBase, leftOffset, leftBytes);
      right.pointTo(rightBase, rightOffset, rightBytes);
      return order.compare(left, right);
    }
  }
}
