package io.sluice.spark.read;

import io.sluice.spark.SluiceException;
import io.sluice.spark.compat.SparkLine;
import io.sluice.spark.record.RecordDecoder;
import java.io.IOException;
import java.util.Comparator;
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
 * Sorts a partition's records by key as rows: Spark's sorter of binary rows compares numbers made of the keys, and only
 * where those are equal are two keys made into objects and compared. So a record becomes objects once, when it is handed
 * out; before that it is bytes in Spark's execution memory, which spills them when memory is short.
 *
 * <p>In memory, equal keys keep the order in which they came. One thread; the sorter frees itself when the task ends.
 */
final class RecordSorter<K, C> {
  private final TaskContext context;
  private final KeyOrder order;
  private final RecordDecoder decoder = new RecordDecoder();
  private final UnsafeExternalSorter sorter;

  RecordSorter(TaskContext context, Comparator<K> ordering, KeyOrder order) {
    this.context = context;
    this.order = order;
    this.sorter = SparkLine.rowSorter(
        context, () -> new KeyComparator<>(ordering), PrefixComparators.BINARY, order.decidesAlone());
  }

  /** Copies a record in; false, with nothing done, when its key has no number. */
  boolean insert(UnsafeRow row) throws IOException {
    Object key = decoder.key(row);
    if (!order.takes(key)) {
      return false;
    }
    long prefix = order.prefix().applyAsLong(key);
    sorter.insertRecord(row.getBaseObject(), row.getBaseOffset(), row.getSizeInBytes(), prefix, false);
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
  private static final class KeyComparator<K> extends RecordComparator {
    private final Comparator<K> ordering;
    private final RecordDecoder decoder = new RecordDecoder();

    KeyComparator(Comparator<K> ordering) {
      this.ordering = ordering;
    }

    @Override
    @SuppressWarnings("unchecked") // An ordering of the job's keys takes the job's keys.
    public int compare(Object left, long leftOffset, int leftBytes, Object right, long rightOffset, int rightBytes) {
      return ordering.compare(
          (K) decoder.key(left, leftOffset, leftBytes), (K) decoder.key(right, rightOffset, rightBytes));
    }
  }
}
