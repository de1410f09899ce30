package io.sluice.spark.record;

import io.sluice.spark.SluiceException;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.io.SequenceInputStream;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.NoSuchElementException;
import org.apache.spark.serializer.Serializer;
import org.apache.spark.serializer.SerializerInstance;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import scala.Product2;
import scala.Tuple2;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/**
 * The records of a reduce task, made from the rows that its blocks hold. A new pair for every record, which the
 * consumer may keep. One thread.
 */
public final class RecordIterator<K, V> extends AbstractIterator<Product2<K, V>> {
  private final Iterator<Product2<Object, UnsafeRow>> rows;
  private final Serializer serializer;
  private final ShuffleReadMetricsReporter metrics;
  private final RecordDecoder decoder = new RecordDecoder();
  private SerializerInstance deserializer;
  private Iterator<Tuple2<Object, Object>> serialized;
  private int serializedLeft;
  private UnsafeRow putBack;

  /**
   * @param rows whose reader has counted each row as one record
   * @param serializer the shuffle's own, for records without a shape
   */
  public RecordIterator(Iterator<Product2<Object, UnsafeRow>> rows, Serializer serializer,
      ShuffleReadMetricsReporter metrics) {
    this.rows = rows;
    this.serializer = serializer;
    this.metrics = metrics;
  }

  @Override
  public boolean hasNext() {
    return serializedLeft > 0 || putBack != null || rows.hasNext();
  }

  @Override
  public Product2<K, V> next() {
    if (serializedLeft > 0) {
      return nextSerialized();
    }
    UnsafeRow row = nextRow();
    if (!decoder.isSerialized(row)) {
      return decoder.decode(row);
    }
    open(row);
    return nextSerialized();
  }

  /** Gives back the row that was last taken from the rows, for {@link #next} to return its records. */
  public void putBack(UnsafeRow row) {
    putBack = row;
  }

  private UnsafeRow nextRow() {
    UnsafeRow row = putBack == null ? rows.next()._2() : putBack;
    putBack = null;
    return row;
  }

  /** Starts to read the serialized records that begin in {@code row} and end in it or in a later one. */
  private void open(UnsafeRow row) {
    if (deserializer == null) {
      deserializer = serializer.newInstance();
    }
    int records = decoder.serializedRecords(row);
    InputStream bytes = new ByteArrayInputStream(decoder.serializedBytes(row));
    int rowsTaken = 1;
    if (records == 0) {
      List<InputStream> parts = new ArrayList<>(List.of(bytes));
      while (records == 0) {
        UnsafeRow next = nextPart();
        records = decoder.serializedRecords(next);
        parts.add(new ByteArrayInputStream(decoder.serializedBytes(next)));
        rowsTaken++;
      }
      bytes = new SequenceInputStream(Collections.enumeration(parts));
    }
    serialized = deserializer.deserializeStream(bytes).asKeyValueIterator();
    serializedLeft = records;
    metrics.incRecordsRead(records - rowsTaken);
  }

  private UnsafeRow nextPart() {
    UnsafeRow row = rows.hasNext() ? rows.next()._2() : null;
    if (row == null || !decoder.isSerialized(row)) {
      throw new SluiceException("a shuffle block ends in the middle of serialized records: please report this");
    }
    return row;
  }

  @SuppressWarnings("unchecked") // The serializer gives back what it was given.
  private Product2<K, V> nextSerialized() {
    try {
      Tuple2<Object, Object> record = serialized.next();
      serializedLeft--;
      if (serializedLeft == 0) {
        endSerialized();
      }
      return (Product2<K, V>) (Product2<?, ?>) record;
    } catch (NoSuchElementException e) {
      throw new SluiceException(serializer.getClass().getName() + " reads " + serializedLeft
          + " records less from a shuffle block than it has written", e);
    }
  }

  /** Asking for one more lets Spark's iterator close its stream. */
  private void endSerialized() {
    if (serialized.hasNext()) {
      throw new SluiceException(serializer.getClass().getName()
          + " reads more records from a shuffle block than it has written");
    }
    serialized = null;
  }
}
