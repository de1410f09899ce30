package io.sluice.spark.record;

import io.sluice.spark.SluiceException;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.serializer.Serializer;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import scala.Product2;
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
  private RecordStreams streams;
  /** Null, or the records of the row that was taken last. */
  private SerializedInput serialized;
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
    return serialized != null && serialized.hasNext() || putBack != null || rows.hasNext();
  }

  @Override
  public Product2<K, V> next() {
    if (serialized != null && serialized.hasNext()) {
      return nextSerialized();
    }
    UnsafeRow row = nextRow();
    if (!decoder.isSerialized(row)) {
      serialized = null;
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
    if (streams == null) {
      streams = RecordStreams.of(serializer);
    }
    int records = decoder.serializedRecords(row);
    List<byte[]> parts = new ArrayList<>(List.of(decoder.serializedBytes(row)));
    while (records == 0) {
      UnsafeRow next = nextPart();
      records = decoder.serializedRecords(next);
      parts.add(decoder.serializedBytes(next));
    }
    serialized = new SerializedInput(streams, parts, records);
    metrics.incRecordsRead(records - parts.size());
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
    return (Product2<K, V>) (Product2<?, ?>) serialized.next();
  }
}
