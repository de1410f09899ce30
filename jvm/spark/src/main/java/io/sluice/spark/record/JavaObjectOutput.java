package io.sluice.spark.record;

import java.io.IOException;
import java.io.NotSerializableException;
import java.io.ObjectOutputStream;
import java.io.ObjectStreamClass;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.util.IdentityHashMap;
import java.util.Map;
import org.apache.spark.serializer.SerializationStream;
import org.apache.spark.serializer.SerializerInstance;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/**
 * A stream of Java's serialization that describes each class in full only once.
 *
 * <p>Spark's {@code JavaSerializationStream} resets its {@code ObjectOutputStream} after each 100 objects (or what
 * {@code spark.serializer.objectStreamReset} says), so that it does not keep all that it has written. A reset forgets
 * classes as well, and their descriptions are most of what is written and read for small objects. This stream resets at
 * the same objects, so it has the same shared objects within a stream, but numbers the classes: one that was described
 * before is written as its number. {@link JavaObjectInput} reads it.
 */
final class JavaObjectOutput extends SerializationStream {
  /** In place of a number: the description of a class follows, which gets the next number. */
  static final int DESCRIBED = 0xFFFF;

  private static final ClassTag<Object> ANY = ClassTag$.MODULE$.Any();

  private final Objects objects;
  private final int resetAfter;
  private final SerializerInstance stock;
  private int written;

  /**
   * @param resetAfter objects written between resets; 0 or less for no resets
   * @param stock whose stream throws Spark's exceptions
   */
  JavaObjectOutput(OutputStream bytes, int resetAfter, SerializerInstance stock) {
    this.resetAfter = resetAfter;
    this.stock = stock;
    try {
      objects = new Objects(bytes);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public <T> SerializationStream writeObject(T object, ClassTag<T> tag) {
    try {
      objects.writeObject(object);
      countObject();
    } catch (NotSerializableException e) {
      // Spark's stream says which field of which object it is.
      stock.serializeStream(new HeapBytes(HeapBytes.FIRST_BYTES)).writeObject(object, ANY);
      throw RecordStreams.<RuntimeException>rethrown(e);
    } catch (IOException e) {
      throw RecordStreams.<RuntimeException>rethrown(e);
    }
    return this;
  }

  /** Counts an object that is written elsewhere, so that resets are where they would be had it been written here. */
  void skipObject() {
    try {
      countObject();
    } catch (IOException e) {
      throw RecordStreams.<RuntimeException>rethrown(e);
    }
  }

  private void countObject() throws IOException {
    if (resetAfter > 0 && ++written >= resetAfter) {
      objects.reset();
      written = 0;
    }
  }

  @Override
  public void flush() {
    try {
      objects.flush();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public void close() {
    try {
      objects.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static final class Objects extends ObjectOutputStream {
    /** Numbers of the classes, by the descriptions that the JDK keeps of them; null while the header is written. */
    private final Map<ObjectStreamClass, Integer> numbers = new IdentityHashMap<>();

    Objects(OutputStream bytes) throws IOException {
      super(bytes);
    }

    @Override
    protected void writeClassDescriptor(ObjectStreamClass description) throws IOException {
      Integer number = numbers.get(description);
      if (number != null) {
        writeShort(number);
        return;
      }
      writeShort(DESCRIBED);
      super.writeClassDescriptor(description);
      if (numbers.size() < DESCRIBED) {
        numbers.put(description, numbers.size());
      }
    }
  }
}
