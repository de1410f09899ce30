package io.sluice.spark.record;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import org.apache.spark.serializer.DeserializationStream;
import org.apache.spark.serializer.JavaSerializer;
import org.apache.spark.serializer.SerializationStream;
import org.apache.spark.serializer.Serializer;
import org.apache.spark.serializer.SerializerInstance;

/**
 * The streams that rows of serialized records are written to and read from: the shuffle's serializer's own, except that
 * exactly Spark's {@code JavaSerializer} gets streams that describe each class once a row
 * ({@link JavaObjectOutput}). Both sides of a shuffle have the same serializer. One thread.
 */
final class RecordStreams {
  private final Serializer serializer;
  private final SerializerInstance instance;
  private final boolean java;
  /** After how many objects a stream of Java's forgets the objects it has written; 0 or less: never. */
  private final int resetAfter;

  private RecordStreams(Serializer serializer, boolean java, int resetAfter) {
    this.serializer = serializer;
    this.instance = serializer.newInstance();
    this.java = java;
    this.resetAfter = resetAfter;
  }

  static RecordStreams of(Serializer serializer) {
    boolean java = serializer.getClass() == JavaSerializer.class;
    return new RecordStreams(serializer, java, java ? resetAfter((JavaSerializer) serializer) : 0);
  }

  /** The serializer's {@code spark.serializer.objectStreamReset}: the first field of its external form. */
  private static int resetAfter(JavaSerializer serializer) {
    try {
      ByteArrayOutputStream bytes = new ByteArrayOutputStream();
      try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
        serializer.writeExternal(out);
      }
      try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
        return in.readInt();
      }
    } catch (IOException e) {
      throw new UncheckedIOException("the settings of Spark's JavaSerializer cannot be read", e);
    }
  }

  /** Throws {@code e} as it is, as Spark's streams do; their methods, Scala's, declare nothing. */
  @SuppressWarnings("unchecked") // Nothing is cast: the type is erased.
  static <E extends Throwable> RuntimeException rethrown(Exception e) throws E {
    throw (E) e;
  }

  /** Whether a stream's records can be cut out of its bytes, each to be read elsewhere. */
  boolean areRelocatable() {
    return serializer.supportsRelocationOfSerializedObjects();
  }

  /** Whether the streams are known: those of Spark's own serializers. */
  boolean areSparks() {
    return SerializerChoice.isSparks(serializer);
  }

  String serializerName() {
    return serializer.getClass().getName();
  }

  SerializationStream write(OutputStream bytes) {
    return java ? new JavaObjectOutput(bytes, resetAfter, instance) : instance.serializeStream(bytes);
  }

  DeserializationStream read(InputStream bytes) {
    if (!java) {
      return instance.deserializeStream(bytes);
    }
    ClassLoader loader = serializer.defaultClassLoader().isDefined() ? serializer.defaultClassLoader().get()
        : Thread.currentThread().getContextClassLoader();
    return new JavaObjectInput(bytes, loader);
  }
}
