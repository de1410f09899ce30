package io.sluice.spark.record;

import io.sluice.spark.memory.HeapQuota;
import java.io.IOException;
import java.util.Arrays;
import org.apache.spark.serializer.JavaSerializer;
import org.apache.spark.serializer.SerializationStream;
import org.apache.spark.serializer.Serializer;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/**
 * Collects serialized records by partition until a partition has enough bytes for a row.
 *
 * <p>A relocatable serializer (Kryo and others that say so) has one stream for all partitions, whose bytes are cut
 * record by record. Any other (Java's) has a stream per partition, since its streams have state; a stream ends with
 * its row, so that each row can be read by itself. The buffers are on the heap, counted in Spark's execution memory
 * with an estimate of the streams' own memory. One thread.
 */
public final class SerializedRecords implements AutoCloseable {
  private static final ClassTag<Object> ANY = ClassTag$.MODULE$.Any();
  private static final int PARTITION_BYTES = 16 * 1024;
  private static final int LEAST_BYTES = 1 << 20;
  private static final int MOST_BYTES = 32 << 20;
  private static final int MOST_EXPECTED = 256 * 1024;
  /** Heap of one of Java's object streams beside its bytes: a block buffer of 1 KiB, tables of handles. */
  private static final int JAVA_STREAM_BYTES = 4 * 1024;
  /** Estimated heap of a stream of an unknown serializer. */
  private static final int OTHER_STREAM_BYTES = 128 * 1024;
  /** Estimated heap of a partition's buffer beside its bytes. */
  private static final int BUFFER_OVERHEAD = 128;

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
  private final Buffer[] buffers;
  private final long fullBytes;
  private final int streamBytes;
  private final HeapQuota quota;
  private final HeapBytes shared = new HeapBytes(HeapBytes.FIRST_BYTES);
  private final SerializationStream sharedStream;
  private long bytes;
  private int used;
  /** Bytes that a partition had on average when the partitions were last drained. */
  private int expected = HeapBytes.FIRST_BYTES;

  /**
   * @param partitions of the shuffle; decides how many bytes are worth collecting
   * @param quota Spark's memory that buffers and streams are counted in; where it has no room, less is collected
   */
  public SerializedRecords(Serializer serializer, int partitions, HeapQuota quota) {
    this.streams = RecordStreams.of(serializer);
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
    int before = buffer.target.size();
    if (sharedStream != null) {
      write(sharedStream, key, value);
      sharedStream.flush();
      shared.appendTo(buffer.target);
      shared.reset(LEAST_BYTES);
    } else {
      if (buffer.stream == null) {
        buffer.stream = streams.write(buffer.target);
        bytes += streamBytes;
      }
      write(buffer.stream, key, value);
    }
    buffer.records++;
    bytes += buffer.target.size() - before;
  }

  private static void write(SerializationStream stream, Object key, Object value) {
    stream.writeKey(key, ANY);
    stream.writeValue(value, ANY);
  }

  /** Whether it is time to {@link #drain}. */
  public boolean isFull() {
    return bytes >= fullBytes || bytes >= LEAST_BYTES && !quota.cover(bytes);
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
    quota.release();
  }

  private static void cut(int partition, Buffer buffer, RecordEncoder encoder, Sink sink) throws IOException {
    int from = 0;
    int left = buffer.target.size();
    while (left > RecordEncoder.MAX_SERIALIZED_BYTES) {
      encoder.encodeSerialized(0, buffer.target.array(), from, RecordEncoder.MAX_SERIALIZED_BYTES);
      sink.accept(partition, 0);
      from += RecordEncoder.MAX_SERIALIZED_BYTES;
      left -= RecordEncoder.MAX_SERIALIZED_BYTES;
    }
    encoder.encodeSerialized(buffer.records, buffer.target.array(), from, left);
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
    private final HeapBytes target;
    private SerializationStream stream;
    private int records;

    Buffer(int expected) {
      target = new HeapBytes(expected);
    }
  }
}
