package io.sluice.spark.record;

import java.io.IOException;
import java.io.InputStream;
import java.io.ObjectInputStream;
import java.io.ObjectStreamClass;
import java.io.StreamCorruptedException;
import java.io.UncheckedIOException;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.serializer.DeserializationStream;
import org.apache.spark.serializer.JavaDeserializationStream;
import scala.reflect.ClassTag;

/** Reads the streams of {@link JavaObjectOutput}; finds classes where Spark's {@code JavaSerializer} does. */
final class JavaObjectInput extends DeserializationStream {
  private final Objects objects;

  JavaObjectInput(InputStream bytes, ClassLoader loader) {
    try {
      objects = new Objects(bytes, loader);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  @SuppressWarnings("unchecked") // The caller knows what it wrote, as with Spark's stream.
  public <T> T readObject(ClassTag<T> tag) {
    try {
      return (T) objects.readObject();
    } catch (IOException | ClassNotFoundException e) {
      throw RecordStreams.<RuntimeException>rethrown(e);
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

  private static final class Objects extends ObjectInputStream {
    private final ClassLoader loader;
    private final List<ObjectStreamClass> descriptions = new ArrayList<>();
    private final List<Class<?>> classes = new ArrayList<>();
    /** Of the description that was read last; the stream asks for its class next. */
    private int number = JavaObjectOutput.DESCRIBED;

    Objects(InputStream bytes, ClassLoader loader) throws IOException {
      super(bytes);
      this.loader = loader;
    }

    @Override
    protected ObjectStreamClass readClassDescriptor() throws IOException, ClassNotFoundException {
      int read = readUnsignedShort();
      if (read < descriptions.size()) {
        number = read;
        return descriptions.get(read);
      }
      if (read != JavaObjectOutput.DESCRIBED) {
        throw new StreamCorruptedException("class " + read + " of " + descriptions.size());
      }
      ObjectStreamClass description = super.readClassDescriptor();
      number = descriptions.size();
      if (number < JavaObjectOutput.DESCRIBED) {
        descriptions.add(description);
        classes.add(null);
      }
      return description;
    }

    @Override
    protected Class<?> resolveClass(ObjectStreamClass description) throws ClassNotFoundException {
      int described = number;
      boolean numbered = described < descriptions.size() && descriptions.get(described) == description;
      Class<?> found = numbered ? classes.get(described) : null;
      if (found == null) {
        found = find(description.getName());
        if (numbered) {
          classes.set(described, found);
        }
      }
      return found;
    }

    private Class<?> find(String name) throws ClassNotFoundException {
      try {
        return Class.forName(name, false, loader);
      } catch (ClassNotFoundException e) {
        if (JavaDeserializationStream.primitiveMappings().contains(name)) {
          return JavaDeserializationStream.primitiveMappings().apply(name);
        }
        throw e;
      }
    }

    @Override
    @SuppressWarnings("deprecation") // Only the class is wanted, as in Spark's stream.
    protected Class<?> resolveProxyClass(String[] interfaces) throws ClassNotFoundException {
      Class<?>[] resolved = new Class<?>[interfaces.length];
      for (int i = 0; i < resolved.length; i++) {
        resolved[i] = Class.forName(interfaces[i], false, loader);
      }
      return Proxy.getProxyClass(loader, resolved);
    }
  }
}
