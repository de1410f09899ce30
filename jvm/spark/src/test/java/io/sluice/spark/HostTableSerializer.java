package io.sluice.spark;

import io.sluice.spark.HostTables.HostColumn;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.NoSuchElementException;
import org.apache.spark.TaskContext;
import org.apache.spark.serializer.DeserializationStream;
import org.apache.spark.serializer.SerializationStream;
import org.apache.spark.serializer.Serializer;
import org.apache.spark.serializer.SerializerInstance;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.util.TaskCompletionListener;
import scala.Tuple2;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;
import scala.reflect.ClassTag;

/**
 * A serializer that behaves as RAPIDS' {@code GpuColumnarBatchSerializer} does with a shuffle manager that is not
 * RAPIDS' own: it says that its bytes may be moved, drops keys, writes tables of host memory one after the other, reads
 * them by {@code asKeyValueIterator} alone, reads ahead, and refuses all else.
 *
 * <pre>
 *   table    magic i32 · columns i32 · rows i32 · column × columns
 *   column   kind i8 (0 longs, 1 strings) · nulls i32 · offsets i32 · data i32 · that many bytes of each
 * </pre>
 */
final class HostTableSerializer extends Serializer implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final int MAGIC = 0x43554446;

  @Override
  public boolean supportsRelocationOfSerializedObjects() {
    return true;
  }

  @Override
  public SerializerInstance newInstance() {
    return new Instance();
  }

  private static final class Instance extends SerializerInstance {
    @Override
    public <T> ByteBuffer serialize(T object, ClassTag<T> type) {
      throw new UnsupportedOperationException();
    }

    @Override
    public <T> T deserialize(ByteBuffer bytes, ClassTag<T> type) {
      throw new UnsupportedOperationException();
    }

    @Override
    public <T> T deserialize(ByteBuffer bytes, ClassLoader loader, ClassTag<T> type) {
      throw new UnsupportedOperationException();
    }

    @Override
    public SerializationStream serializeStream(OutputStream target) {
      return new Writing(new DataOutputStream(new BufferedOutputStream(target)));
    }

    @Override
    public DeserializationStream deserializeStream(InputStream source) {
      return new Reading(new DataInputStream(new BufferedInputStream(source)));
    }
  }

  private static final class Writing extends SerializationStream {
    private final DataOutputStream target;

    Writing(DataOutputStream target) {
      this.target = target;
    }

    @Override
    public <T> SerializationStream writeKey(T key, ClassTag<T> type) {
      return this;
    }

    @Override
    public <T> SerializationStream writeValue(T value, ClassTag<T> type) {
      ColumnarBatch batch = (ColumnarBatch) value;
      try {
        target.writeInt(MAGIC);
        target.writeInt(batch.numCols());
        target.writeInt(batch.numRows());
        for (int i = 0; i < batch.numCols(); i++) {
          HostColumn column = (HostColumn) batch.column(i);
          target.writeByte(column.offsets() == null ? 0 : 1);
          write(column.nulls());
          write(column.offsets());
          write(column.data());
        }
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
      return this;
    }

    private void write(ByteBuffer bytes) throws IOException {
      byte[] copy = new byte[bytes == null ? 0 : bytes.capacity()];
      if (bytes != null) {
        bytes.get(0, copy);
      }
      target.writeInt(copy.length);
      target.write(copy);
    }

    @Override
    public <T> SerializationStream writeObject(T object, ClassTag<T> type) {
      throw new UnsupportedOperationException();
    }

    @Override
    public <T> SerializationStream writeAll(Iterator<T> objects, ClassTag<T> type) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void flush() {
      try {
        target.flush();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    @Override
    public void close() {
      try {
        target.close();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  private static final class Reading extends DeserializationStream {
    private final DataInputStream source;

    Reading(DataInputStream source) {
      this.source = source;
    }

    @Override
    public Iterator<Tuple2<Object, Object>> asKeyValueIterator() {
      return new Tables(source);
    }

    @Override
    public Iterator<Object> asIterator() {
      throw new UnsupportedOperationException();
    }

    @Override
    public <T> T readKey(ClassTag<T> type) {
      throw new UnsupportedOperationException();
    }

    @Override
    public <T> T readValue(ClassTag<T> type) {
      throw new UnsupportedOperationException();
    }

    @Override
    public <T> T readObject(ClassTag<T> type) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void close() {
      try {
        source.close();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  /** Closes the table that it gave last, as its reader copies it to the device before it asks for another. */
  private static final class Tables extends AbstractIterator<Tuple2<Object, Object>> {
    private final DataInputStream source;
    private ColumnarBatch ahead;
    private ColumnarBatch given;
    private boolean ended;

    Tables(DataInputStream source) {
      this.source = source;
      TaskContext.get().addTaskCompletionListener((TaskCompletionListener) context -> close(ahead));
    }

    @Override
    public boolean hasNext() {
      if (ahead == null && !ended) {
        ahead = read();
        ended = ahead == null;
      }
      return ahead != null;
    }

    @Override
    public Tuple2<Object, Object> next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      close(given);
      given = ahead;
      ahead = null;
      return new Tuple2<>(0, given);
    }

    private static void close(ColumnarBatch batch) {
      if (batch != null) {
        batch.close();
      }
    }

    private ColumnarBatch read() {
      try {
        int magic;
        try {
          magic = source.readInt();
        } catch (EOFException e) {
          source.close();
          return null;
        }
        if (magic != MAGIC) {
          throw new IllegalStateException("no table: " + Integer.toHexString(magic));
        }
        ColumnVector[] columns = new ColumnVector[source.readInt()];
        int rows = source.readInt();
        for (int i = 0; i < columns.length; i++) {
          boolean strings = source.readByte() == 1;
          ByteBuffer nulls = readBytes();
          ByteBuffer offsets = readBytes();
          columns[i] = new HostColumn(nulls.capacity() == 0 ? null : nulls, strings ? offsets : null, readBytes());
        }
        return new ColumnarBatch(columns, rows);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    private ByteBuffer readBytes() throws IOException {
      byte[] bytes = new byte[source.readInt()];
      source.readFully(bytes);
      ByteBuffer buffer = HostTables.buffer(bytes.length);
      buffer.put(0, bytes);
      return buffer;
    }
  }
}
