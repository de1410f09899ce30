package io.sluice.spark.read;

import io.sluice.spark.SluiceException;
import io.sluice.spark.compat.SparkLine;
import io.sluice.spark.record.RecordDecoder;
import io.sluice.spark.record.RowKey;
import java.io.IOException;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.util.collection.unsafe.sort.PrefixComparators;
import org.apache.spark.util.collection.unsafe.sort.RecordComparator;
import org.apache.spark.util.collection.unsafe.sort.UnsafeExternalSorter;
import org.apache.spark.util.collection.unsafe.sort.UnsafeSorterIterator;
import scala.Product2;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/**
 * Sorts a partition's records by key as rows: Spark's sorter of binary rows compares numbers made of the keys, and
 * where those are equal, the keys as they lie in the rows. So a record becomes objects once, when it is handed out; before that it is bytes in Spark's execution memory, which spills them when memory is short.
 *
 * <p>In memory, equal keys keep the order in which they came. One thread; the sorter frees itself when the task ends.
 */
final class RecordSorter<K, C> {
  private final TaskContext context;
  private final KeyOrder order;
  private final RecordDecoder decoder = new RecordDecoder();
  private final UnsafeExternalSorter sorter;

  RecordSorter(TaskContext context, KeyOrder order) {
    this.context = context;
    this.order = order;
    this.sorter = SparkLine.rowSorter(
        context, () -> new KeyComparator(order), PrefixComparators.BINARY, order.decidesAlone());
  }

  /**
   * Copies a record in; false, with nothing done, when its key has no number.
   *
   * @param key points to {@code row}
   */
  boolean insert(UnsafeRow row, RowKey key) throws IOException {
    if (!order.takes(key)) {
      return false;
    }
    sorter.insertRecord(row.getBaseObject(), row.getBaseOffset(), row.getSizeInBytes(), order.prefix(key), false);
    return true;
  }

  /** All records in order, as new objects; call once. */
  Iterator<Product2<K, C>> sorted() throws IOException {
    UnsafeSorterIterator rows = sorter.getSortedIterator();
    context.taskMetrics().incPeakExecutionMemory(sorter.getPeakMemoryUsedBytes());
    return new AbstractIterator<>() {
      @Override
      public boolean hasNext() {
        return rows.hasNext();
      }

      @Override
      public Product2<K, C> next() {
        try {
          rows.loadNext();
        } catch (IOException e) {
          throw new SluiceException("reading back sorted shuffle records that were spilled failed: " + e.getMessage(), e);
        }
        Product2<K, C> record = decoder.decode(rows.getBaseObject(), rows.getBaseOffset(), rows.getRecordLength());
        if (!rows.hasNext()) {
          sorter.cleanupResources();
        }
        return record;
      }
    };
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
    public int compare(Object leftBase, long leftOffset, int leftBytes, Object rightBase, long rightOffset, int rightBytes) {
      left.pointTo(leftBase, leftOffset, leftBytes);
      right.pointTo(rightBase, rightOffset, rightBytes);
      return order.compare(left, right);
    }
  }
}
