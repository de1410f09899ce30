package io.sluice.spark.record;

import io.sluice.spark.memory.HeapQuota;
import java.io.IOException;
import java.util.Arrays;
import org.apache.spark.serializer.JavaSerializer;
import org.apache.spark.serializer.SerializationStream;
import org.apache.spark.serializer.Serializer;
import org.apache.spark.unsafe.Platform;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/**
 * Collects serialized records by partition until a partition has enough bytes for a row.
 *
 * <p>A relocatable serializer (Kryo and others that say so) has one stream for all partitions, whose bytes are cut
 * record by record. Any other (Java's) has a stream per partition, since its streams have state; a stream ends with
 * its row, so that each row can be read by itself. With Spark's own serializers, keys that are numbers or short text
 * are written beside the stream, by {@link NestedWriter}, and only the others into it. The buffers are on the heap,
 * counted in Spark's execution memory with an estimate of the streams' own memory. One thread.
 */
public final class SerializedRecords implements AutoCloseable {
  private static final ClassTag<Object> ANY = ClassTag$.MODULE$.Any();
  private static final int PARTITION_BYTES = 16 * 1024;
  private static final int LEAST_BYTES = 1 << 20;
  private static final int MOST_BYTES = 32 << 20;
  private static final int MOST_EXPECTED = 256 * 1024;
  private static final int FIRST_KEYS_BYTES = 64;
  /** A partition with more bytes of keys is full, so that they fit one row. */
  private static final int MOST_KEYS_BYTES = 1 << 20;
  private static final HeapBytes NOTHING = new HeapBytes(0);
  /** Characters of a key that is text; longer ones are in the stream. */
  private static final int LONGEST_KEY = 1024;
  /** Heap of one of Java's object streams beside its bytes: a block buffer of 1 KiB, tables of handles. */
  private static final int JAVA_STREAM_BYTES = 4 * 1024;
  /** Estimated heap of a stream of an unknown serializer. */
  private static final int OTHER_STREAM_BYTES = 128 * 1024;
  /** Estimated heap of a partition's buffer beside its bytes. */
  private static final int BUFFER_OVERHEAD = 256;

  /** Takes rows over. */
  public interface Sink {
    /**
     * The encoder holds a row of {@code partition}.
     *
     * @param records how many end in it; 0 if their bytes continue in the partition's next row
     */
    void accept(int partition, int records) throws IOException;
  }

  private final RecordStreams streams;
  /** Null when every key must go through the serializer. */
  private final NestedWriter keys;
  private final Buffer[] buffers;
  private final long fullBytes;
  private final int streamBytes;
  private final HeapQuota quota;
  private final HeapBytes shared = new HeapBytes(HeapBytes.FIRST_BYTES);
  private final SerializationStream sharedStream;
  private long bytes;
  private int used;
  private boolean keysAreFull;
  /** Bytes that a partition had on average when the partitions were last drained. */
  private int expected = HeapBytes.FIRST_BYTES;

  /**
   * @param flatPartsAreSparks of {@link ShuffleSerializers}: true spares the lookup of the keys' classes
   * @param partitions of the shuffle; decides how many bytes are worth collecting
   * @param quota Spark's memory that buffers and streams are counted in; where it has no room, less is collected
   */
  public SerializedRecords(Serializer serializer, boolean flatPartsAreSparks, int partitions, HeapQuota quota) {
    this.streams = RecordStreams.of(serializer);
    this.keys = streams.areSparks() ? new NestedWriter(NestedClasses.of(serializer, flatPartsAreSparks)) : null;
    this.buffers = new Buffer[partitions];
    this.fullBytes = Math.max(LEAST_BYTES, Math.min(MOST_BYTES, (long) partitions * PARTITION_BYTES));
    this.streamBytes = serializer instanceof JavaSerializer ? JAVA_STREAM_BYTES : OTHER_STREAM_BYTES;
    this.quota = quota;
    this.sharedStream = streams.areRelocatable() ? streams.write(shared) : null;
  }

  /** Adds a record. */
  public void add(int partition, Object key, Object value) {
    Buffer buffer = buffers[partition];
    if (buffer == null) {
      buffer = new Buffer(expected);
      buffers[partition] = buffer;
      used++;
      bytes += BUFFER_OVERHEAD;
    }
    int before = buffer.bytes();
    if (sharedStream != null) {
      write(sharedStream, buffer, key, value);
      sharedStream.flush();
      shared.appendTo(buffer.target);
      shared.reset(LEAST_BYTES);
    } else {
      if (buffer.stream == null) {
        buffer.stream = streams.write(buffer.target);
        bytes += streamBytes;
      }
      write(buffer.stream, buffer, key, value);
    }
    buffer.records++;
    keysAreFull |= buffer.keys.size() > MOST_KEYS_BYTES;
    bytes += buffer.bytes() - before;
  }

  private void write(SerializationStream stream, Buffer buffer, Object key, Object value) {
    if (writtenAsKey(buffer, key)) {
      if (stream instanceof JavaObjectOutput) {
        ((JavaObjectOutput) stream).skipObject();
      }
    } else {
      stream.writeKey(key, ANY);
    }
    stream.writeValue(value, ANY);
  }

  /** Writes the key beside the stream if it is a number or short text. */
  private boolean writtenAsKey(Buffer buffer, Object key) {
    if (keys == null) {
      return false;
    }
    int tag = NestedTag.of(key);
    keys.start();
    if (tag < NestedTag.NULL || tag > NestedTag.LATIN1
        || tag == NestedTag.LATIN1 && ((String) key).length() > LONGEST_KEY || !keys.write(key)) {
      buffer.keys.write(NestedTag.IN_STREAM);
      return false;
    }
    buffer.keys.write(keys.array(), 0, keys.size());
    return true;
  }

  /** Whether it is time to {@link #drain}. */
  public boolean isFull() {
    return keysAreFull || bytes >= fullBytes || bytes >= LEAST_BYTES && !quota.cover(bytes);
  }

  /** Has {@code encoder} make rows of every partition's records, in order of partitions, and starts anew. */
  public void drain(RecordEncoder encoder, Sink sink) throws IOException {
    expected = (int) Math.max(HeapBytes.FIRST_BYTES, Math.min(MOST_EXPECTED, bytes / Math.max(1, used)));
    for (int partition = 0; used > 0; partition++) {
      Buffer buffer = buffers[partition];
      if (buffer != null) {
        buffers[partition] = null;
        used--;
        if (buffer.stream != null) {
          buffer.stream.close();
        }
        cut(partition, buffer, encoder, sink);
      }
    }
    bytes = 0;
    keysAreFull = false;
    quota.release();
  }

  /** The last row of several has all of the keys. */
  private static void cut(int partition, Buffer buffer, RecordEncoder encoder, Sink sink) throws IOException {
    HeapBytes body = buffer.target;
    HeapBytes tail = buffer.tail();
    int from = 0;
    int left = body.size();
    while (left > RecordEncoder.MAX_SERIALIZED_BYTES - tail.size()) {
      int size = Math.min(left, RecordEncoder.MAX_SERIALIZED_BYTES);
      encoder.encodeSerialized(0, body, from, size, NOTHING);
      sink.accept(partition, 0);
      from += size;
      left -= size;
    }
    encoder.encodeSerialized(buffer.records, body, from, left, tail);
    sink.accept(partition, buffer.records);
  }

  /** Ends the streams; records that were not drained are dropped. */
  @Override
  public void close() {
    Arrays.fill(buffers, null);
    used = 0;
    quota.release();
    if (sharedStream != null) {
      sharedStream.close();
    }
  }

  private static final class Buffer {
    private final HeapBytes keys;
    private final HeapBytes target;
    private SerializationStream stream;
    private int records;

    Buffer(int expected) {
      target = new HeapBytes(expected);
      keys = new HeapBytes(FIRST_KEYS_BYTES);
    }

    /** The keys, and their size: behind the stream, because the encoder compresses bytes if their beginning shrinks. */
    HeapBytes tail() {
      byte[] size = new byte[Integer.BYTES];
      Platform.putInt(size, Platform.BYTE_ARRAY_OFFSET, keys.size());
      keys.write(size, 0, size.length);
      return keys;
    }

    int bytes() {
      return keys.size() + target.size();
    }
  }
}
