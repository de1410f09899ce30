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
import org.apache.spark.unsafe.Platform;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/**
 * Reads the records that {@link SerializedRecords} wrote into one row, or into several if they are long. One thread.
 */
final class SerializedInput {
  private static final ClassTag<Object> ANY = ClassTag$.MODULE$.Any();

  private final RecordStreams streams;
  /** Null when all keys are in the stream. */
  private final NestedReader keys;
  private final DeserializationStream stream;
  /** The records of a serializer that is not Spark's, whose streams may do more in this iterator; null with Spark's. */
  private final Iterator<Tuple2<Object, Object>> iterator;
  private int left;

  /**
   * @param parts the bytes of the rows
   * @param records their number
   */
  SerializedInput(RecordStreams streams, List<byte[]> parts, int records) {
    this.streams = streams;
    this.left = records;
    byte[] last = parts.get(parts.size() - 1);
    int keysBytes = keysBytes(last);
    int end = last.length - Integer.BYTES - keysBytes;
    this.keys = keysBytes == 0 ? null : new NestedReader();
    if (keys != null) {
      keys.open(last, Platform.BYTE_ARRAY_OFFSET + end, keysBytes);
    }
    this.stream = streams.read(joined(parts, end));
    this.iterator = streams.areSparks() ? null : stream.asKeyValueIterator();
  }

  /** The size of the keys that are the end of {@code last}. */
  private static int keysBytes(byte[] last) {
    int before = last.length - Integer.BYTES;
    int size = before < 0 ? -1 : Platform.getInt(last, Platform.BYTE_ARRAY_OFFSET + before);
    if (size < 0 || size > before) {
      throw new SluiceException("serialized records of " + last.length + " bytes have " + size
          + " bytes of keys: please report this");
    }
    return size;
  }

  private static InputStream joined(List<byte[]> parts, int endOfLast) {
    int last = parts.size() - 1;
    HeapInput lastInput = new HeapInput(parts.get(last), endOfLast);
    if (last == 0) {
      return lastInput;
    }
    List<InputStream> inputs = new ArrayList<>();
    parts.subList(0, last).forEach(part -> inputs.add(new HeapInput(part, part.length)));
    inputs.add(lastInput);
    return new SequenceInputStream(Collections.enumeration(inputs));
  }

  boolean hasNext() {
    return left > 0;
  }

  Tuple2<Object, Object> next() {
    try {
      Tuple2<Object, Object> record = iterator != null ? iterator.next() : new Tuple2<>(key(), stream.readValue(ANY));
      left--;
      if (left == 0) {
        end();
      }
      return record;
    } catch (Exception e) {
      // A class's own readObject may throw any of these too.
      boolean ended = e instanceof EOFException || iterator != null && e instanceof NoSuchElementException;
      throw ended ? tooFew(e) : RecordStreams.<RuntimeException>rethrown(e);
    }
  }

  private Object key() {
    return keys == null || keys.skipsInStream() ? stream.readKey(ANY) : keys.next();
  }

  private SluiceException tooFew(Exception e) {
    return new SluiceException(streams.serializerName() + " reads " + left
        + " records less from a shuffle block than it has written, or a class that it reads met the end of its data",
        e);
  }

  /** Asking for one more lets Spark's iterator close its stream. Spark's own streams end by an exception: costly. */
  private void end() {
    if (iterator == null) {
      stream.close();
    } else if (iterator.hasNext()) {
      throw new SluiceException(streams.serializerName()
          + " reads more records from a shuffle block than it has written");
    }
  }
}
