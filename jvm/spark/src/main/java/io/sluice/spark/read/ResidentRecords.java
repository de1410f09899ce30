package io.sluice.spark.read;

import io.sluice.spark.SluiceException;
import io.sluice.spark.record.RecordDecoder;
import scala.Product2;
import scala.Tuple2;
import scala.collection.AbstractIterator;

/**
 * Hands out {@link ResidentRows} as new objects, in the order of their references, and frees them after the last.
 *
 * <p>Records are made some at a time, under the rows' monitor: the consumer may be another thread than the task's, as
 * PySpark's writer thread is, and may ask once more after the task has ended and the rows were freed.
 */
final class ResidentRecords<K, C> extends AbstractIterator<Product2<K, C>> {
  private static final int MAX_AHEAD = 64;
  private static final int MAX_AHEAD_BYTES = 256 * 1024;

  private final ResidentRows rows;
  private final int size;
  private final RecordDecoder decoder = new RecordDecoder();
  private final Tuple2<?, ?>[] ahead;
  private int aheadSize;
  private int aheadNext;
  private int next;

  ResidentRecords(ResidentRows rows) {
    this.rows = rows;
    this.size = rows.size();
    this.ahead = new Tuple2<?, ?>[Math.min(MAX_AHEAD, size)];
  }

  @Override
  public boolean hasNext() {
    return aheadNext < aheadSize || next < size;
  }

  @Override
  @SuppressWarnings("unchecked") // The types are those of the records that were encoded.
  public Product2<K, C> next() {
    if (aheadNext == aheadSize) {
      decodeSome();
    }
    Tuple2<?, ?> record = ahead[aheadNext];
    ahead[aheadNext] = null;
    aheadNext++;
    return (Product2<K, C>) record;
  }

  private void decodeSome() {
    synchronized (rows) {
      if (rows.size() != size) {
        throw new SluiceException("sorted shuffle records were asked for after their task had ended");
      }
      int count = 0;
      int bytes = 0;
      while (count < ahead.length && next < size && bytes < MAX_AHEAD_BYTES) {
        long address = rows.address(next);
        int length = ResidentRows.bytes(address);
        ahead[count] = decoder.decode(null, address, length);
        bytes += length;
        count++;
        next++;
      }
      aheadSize = count;
      aheadNext = 0;
      if (next == size) {
        rows.close();
      }
    }
  }
}
