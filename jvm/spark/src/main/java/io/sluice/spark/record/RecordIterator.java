package io.sluice.spark.record;

import io.sluice.spark.SluiceException;
import java.io.EOFException;
import java.io.InputStream;
import java.io.SequenceInputStream;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.NoSuchElementException;
import org.apache.spark.serializer.DeserializationStream;
import org.apache.spark.serializer.Serializer;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import scala.Product2;
import scala.Tuple2;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/**
 * The records of a reduce task, made from the rows that its blocks hold. A new pair for every record, which the
 * consumer may keep. One thread.
 */
public final class RecordIterator<K, V> extends AbstractIterator<Product2<K, V>> {
  private static final ClassTag<Object> ANY = ClassTag$.MODULE$.Any();

  private final Iterator<Product2<Object, UnsafeRow>> rows;
  private final Serializer serializer;
  private final ShuffleReadMetricsReporter metrics;
  private final RecordDecoder decoder = new RecordDecoder();
  private RecordStreams streams;
  /** One of Spark's own serializers, null with another. */
  private DeserializationStream stream;
  /** The records of another serializer, whose streams may do more in this iterator; null with Spark's. */
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
    if (streams == null) {
      streams = RecordStreams.of(serializer);
    }
    int records = decoder.serializedRecords(row);
    InputStream bytes = new HeapInput(decoder.serializedBytes(row));
    int rowsTaken = 1;
    if (records == 0) {
      List<InputStream> parts = new ArrayList<>(List.of(bytes));
      while (records == 0) {
        UnsafeRow next = nextPart();
        records = decoder.serializedRecords(next);
        parts.add(new HeapInput(decoder.serializedBytes(next)));
        rowsTaken++;
      }
      bytes = new SequenceInputStream(Collections.enumeration(parts));
    }
    stream = streams.read(bytes);
    serialized = streams.areSparks() ? null : stream.asKeyValueIterator();
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
      Tuple2<Object, Object> record = serialized != null ? serialized.next()
          : new Tuple2<>(stream.readKey(ANY), stream.readValue(ANY));
      serializedLeft--;
      if (serializedLeft == 0) {
        endSerialized();
      }
      return (Product2<K, V>) (Product2<?, ?>) record;
    } catch (NoSuchElementException e) {
      throw tooFew(e);
    } catch (Exception e) {
      throw e instanceof EOFException ? tooFew(e) : RecordStreams.<RuntimeException>rethrown(e);
    }
  }

  private SluiceException tooFew(Exception e) {
    return new SluiceException(serializer.getClass().getName() + " reads " + serializedLeft
        + " records less from a shuffle block than it has written", e);
  }

  /** Asking for one more lets Spark's iterator close its stream. Spark's own streams end by an exception: costly. */
  private void endSerialized() {
    if (serialized == null) {
      stream.close();
    } else if (serialized.hasNext()) {
      throw new SluiceException(serializer.getClass().getName()
          + " reads more records from a shuffle block than it has written");
    }
    stream = null;
    serialized = null;
  }
}
