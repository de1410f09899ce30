package io.sluice.spark.order;

import io.sluice.spark.compat.SparkLine;
import io.sluice.spark.record.RecordDecoder;
import java.io.IOException;
import org.apache.spark.util.collection.unsafe.sort.UnsafeSorterIterator;
import scala.Product2;
import scala.collection.AbstractIterator;

/** Hands out the rows of one of Spark's row sorters, or of a file of one, as new objects. One thread. */
final class SpilledRecords<K, C> extends AbstractIterator<Product2<K, C>> {
  private final UnsafeSorterIterator rows;
  private final Runnable afterLast;
  private final RecordDecoder decoder = new RecordDecoder();

  /** @param afterLast called when the last record has been made */
  SpilledRecords(UnsafeSorterIterator rows, Runnable afterLast) {
    this.rows = rows;
    this.afterLast = afterLast;
  }

  @Override
  public boolean hasNext() {
    return rows.hasNext();
  }

  @Override
  public Product2<K, C> next() {
    try {
      rows.loadNext();
    } catch (IOException e) {
      // Not wrapped: to find the next row Spark's sorter calls the job's comparator, which may have thrown it.
      throw SparkLine.unchecked(e);
    }
    Product2<K, C> record = decoder.decode(rows.getBaseObject(), rows.getBaseOffset(), rows.getRecordLength());
    if (!rows.hasNext()) {
      afterLast.run();
    }
    return record;
  }
}
