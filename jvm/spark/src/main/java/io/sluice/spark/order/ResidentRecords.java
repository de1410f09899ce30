package io.sluice.spark.order;

import io.sluice.spark.SluiceException;
import io.sluice.spark.record.RecordDecoder;
import java.util.NoSuchElementException;
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

  /** The processor prefetches longer rows itself. */
  private static final int MAX_FETCH_BYTES = 512;

  private final ResidentRows rows;
  private final int size;
  private final RecordDecoder decoder = new RecordDecoder();
  private final Tuple2<?, ?>[] ahead;
  private int aheadSize;
  private int aheadNext;
  private int next;
  /** Written so that the JIT compiler does not remove the loads that fetch cache lines. */
  private long fetched;

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
      if (next == size) {
        throw new NoSuchElementException("no more records in this shuffle partition");
      }
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
      int count = fetchSome();
      for (int i = 0; i < count; i++) {
        long address = rows.address(next + i);
        ahead[i] = decoder.decode(null, address, ResidentRows.bytes(address));
      }
      next += count;
      aheadSize = count;
      aheadNext = 0;
      if (next == size) {
        rows.close();
      }
    }
  }

  /**
   * Brings the next rows into the cache, and says how many it brought, at least one.
   */
  private int fetchSome() {
    int count = 0;
    int bytes = 0;
    while (count < ahead.length && next + count < size && bytes < MAX_AHEAD_BYTES) {
      bytes += ResidentRows.bytes(rows.address(next + count));
      count++;
    }
    fetched += rows.touch(next, next + count, MAX_FETCH_BYTES);
    return count;
  }
}
