package io.sluice.spark.record;

import io.sluice.spark.SluiceException;
import java.io.EOFException;
import java.io.IOException;
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
    InputStream bytes = joined(parts);
    this.keys = keys(bytes, parts.stream().mapToLong(part -> part.length).sum());
    this.stream = streams.read(bytes);
    this.iterator = streams.areSparks() ? null : stream.asKeyValueIterator();
  }

  private static InputStream joined(List<byte[]> parts) {
    if (parts.size() == 1) {
      return new HeapInput(parts.get(0));
    }
    List<InputStream> inputs = new ArrayList<>();
    parts.forEach(part -> inputs.add(new HeapInput(part)));
    return new SequenceInputStream(Collections.enumeration(inputs));
  }

  /** Takes the keys, which are before the stream. */
  private static NestedReader keys(InputStream bytes, long most) {
    int size = Platform.getInt(read(bytes, Integer.BYTES), Platform.BYTE_ARRAY_OFFSET);
    if (size < 0 || size > most) {
      throw new SluiceException("serialized records of " + most + " bytes have " + size
          + " bytes of keys: please report this");
    }
    if (size == 0) {
      return null;
    }
    NestedReader keys = new NestedReader();
    keys.open(read(bytes, size), Platform.BYTE_ARRAY_OFFSET, size);
    return keys;
  }

  private static byte[] read(InputStream bytes, int count) {
    byte[] read = new byte[count];
    try {
      int size = 0;
      while (size < count) {
        int more = bytes.read(read, size, count - size);
        if (more < 0) {
          throw new SluiceException("serialized records end within their keys: please report this");
        }
        size += more;
      }
    } catch (IOException e) {
      throw new IllegalStateException("an array cannot be read", e);
    }
    return read;
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
    } catch (NoSuchElementException e) {
      throw tooFew(e);
    } catch (Exception e) {
      throw e instanceof EOFException ? tooFew(e) : RecordStreams.<RuntimeException>rethrown(e);
    }
  }

  private Object key() {
    return keys == null || keys.skipsInStream() ? stream.readKey(ANY) : keys.next();
  }

  private SluiceException tooFew(Exception e) {
    return new SluiceException(streams.serializerName() + " reads " + left
        + " records less from a shuffle block than it has written", e);
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
