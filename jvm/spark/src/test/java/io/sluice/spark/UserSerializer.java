package io.sluice.spark;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.OutputStream;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import org.apache.spark.serializer.DeserializationStream;
import org.apache.spark.serializer.SerializationStream;
import org.apache.spark.serializer.Serializer;
import org.apache.spark.serializer.SerializerInstance;
import org.apache.spark.util.Utils;
import scala.reflect.ClassTag;

/**
 * A serializer as a user might write it in Java, with a format of its own for {@link Point} and Java's for all else.
 *
 * <pre>
 *   object   0 | x (4) | y (4)   a point          streams of {@link Stateful}: one byte 0x53 first,
 *            1 | length (4) | …  Java's bytes     x and y as differences to the point before
 * </pre>
 */
public abstract class UserSerializer extends Serializer implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final int POINT = 0;
  private static final int OTHER = 1;
  private static final int STREAM_START = 0x53;

  /** A key that has no shape. */
  static final class Point implements Serializable, Comparable<Point> {
    private static final long serialVersionUID = 1L;
    final int x;
    final int y;

    Point(int x, int y) {
      this.x = x;
      this.y = y;
    }

    @Override
    public boolean equals(Object other) {
      return other instanceof Point point && point.x == x && point.y == y;
    }

    @Override
    public int hashCode() {
      return 31 * x + y;
    }

    @Override
    public int compareTo(Point other) {
      return x != other.x ? Integer.compare(x, other.x) : Integer.compare(y, other.y);
    }

    @Override
    public String toString() {
      return "(" + x + " " + y + ")";
    }
  }

  /** Says that the bytes of its objects may be put in another order. */
  public static final class Relocatable extends UserSerializer {
    private static final long serialVersionUID = 1L;

    @Override
    public boolean supportsRelocationOfSerializedObjects() {
      return true;
    }
  }

  /** Its streams only make sense as a whole and from their beginning. */
  public static final class Stateful extends UserSerializer {
    private static final long serialVersionUID = 1L;

    @Override
    boolean stateful() {
      return true;
    }
  }

  /** Cannot read or write points whose x is 13. */
  static final class Failing extends UserSerializer {
    private static final long serialVersionUID = 1L;
    private final boolean whileReading;

    Failing(boolean whileReading) {
      this.whileReading = whileReading;
    }

    @Override
    void check(Point point, boolean reading) {
      if (point.x == 13 && reading == whileReading) {
        throw new IllegalStateException("thirteen cannot be " + (reading ? "read" : "written"));
      }
    }
  }

  boolean stateful() {
    return false;
  }

  void check(Point point, boolean reading) {
    // Most can be read and written.
  }

  @Override
  public SerializerInstance newInstance() {
    return new Instance();
  }

  private final class Instance extends SerializerInstance {
    @Override
    public <T> ByteBuffer serialize(T object, ClassTag<T> type) {
      ByteArrayOutputStream bytes = new ByteArrayOutputStream();
      try (SerializationStream stream = serializeStream(bytes)) {
        stream.writeObject(object, type);
      }
      return ByteBuffer.wrap(bytes.toByteArray());
    }

    @Override
    public <T> T deserialize(ByteBuffer bytes, ClassTag<T> type) {
      byte[] array = new byte[bytes.remaining()];
      bytes.duplicate().get(array);
      return deserializeStream(new ByteArrayInputStream(array)).readObject(type);
    }

    @Override
    public <T> T deserialize(ByteBuffer bytes, ClassLoader loader, ClassTag<T> type) {
      return deserialize(bytes, type);
    }

    @Override
    public SerializationStream serializeStream(OutputStream target) {
      return new Writing(new DataOutputStream(target));
    }

    @Override
    public DeserializationStream deserializeStream(InputStream source) {
      return new Reading(new DataInputStream(source));
    }
  }

  private final class Writing extends SerializationStream {
    private final DataOutputStream target;
    private Point last = new Point(0, 0);

    Writing(DataOutputStream target) {
      this.target = target;
      if (stateful()) {
        run(() -> target.writeByte(STREAM_START));
      }
    }

    @Override
    public <T> SerializationStream writeObject(T object, ClassTag<T> type) {
      run(() -> {
        if (object instanceof Point point) {
          check(point, false);
          target.writeByte(POINT);
          target.writeInt(point.x - last.x);
          target.writeInt(point.y - last.y);
          last = stateful() ? point : last;
        } else {
          byte[] java = javaBytes(object);
          target.writeByte(OTHER);
          target.writeInt(java.length);
          target.write(java);
        }
      });
      return this;
    }

    @Override
    public void flush() {
      run(target::flush);
    }

    @Override
    public void close() {
      run(target::close);
    }
  }

  private final class Reading extends DeserializationStream {
    private final DataInputStream source;
    private Point last = new Point(0, 0);
    private boolean started = !stateful();

    Reading(DataInputStream source) {
      this.source = source;
    }

    @Override
    @SuppressWarnings("unchecked") // The caller gets what was written.
    public <T> T readObject(ClassTag<T> type) {
      try {
        start();
        return (T) (source.readByte() == POINT ? readPoint() : readOther());
      } catch (IOException e) {
        throw Reading.<RuntimeException>same(e);
      }
    }

    /** The end of a stream must be an {@code EOFException}, which Spark's interface does not declare. */
    @SuppressWarnings("unchecked") // Erased: nothing is cast.
    private static <E extends Exception> E same(Exception e) throws E {
      throw (E) e;
    }

    private void start() throws IOException {
      if (!started) {
        int first = source.read();
        if (first < 0) {
          throw new EOFException();
        } else if (first != STREAM_START) {
          throw new IllegalStateException("a stream starts with " + first);
        }
        started = true;
      }
    }

    private Point readPoint() throws IOException {
      Point point = new Point(last.x + source.readInt(), last.y + source.readInt());
      check(point, true);
      last = stateful() ? point : last;
      return point;
    }

    private Object readOther() throws IOException {
      byte[] java = new byte[source.readInt()];
      source.readFully(java);
      try (ObjectInputStream stream = new ObjectInputStream(new ByteArrayInputStream(java)) {
        @Override
        protected Class<?> resolveClass(java.io.ObjectStreamClass found) throws ClassNotFoundException {
          return Utils.classForName(found.getName(), false, false);
        }
      }) {
        return stream.readObject();
      } catch (ClassNotFoundException e) {
        throw new IllegalStateException(e);
      }
    }

    @Override
    public void close() {
      run(source::close);
    }
  }

  private static byte[] javaBytes(Object object) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (ObjectOutputStream stream = new ObjectOutputStream(bytes)) {
      stream.writeObject(object);
    }
    return bytes.toByteArray();
  }

  private interface Step {
    void run() throws IOException;
  }

  private static void run(Step step) {
    try {
      step.run();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
