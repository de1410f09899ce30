package io.sluice.spark.record;

import com.esotericsoftware.kryo.Kryo;
import com.esotericsoftware.kryo.io.Output;
import org.apache.spark.SparkConf;
import org.apache.spark.serializer.KryoSerializer;

/**
 * The Kryo that Spark makes where no setting is made: what serializer it has for a class, and what bytes that writes.
 * One for the process, made when it is first needed. Any thread.
 */
final class PlainKryo {
  private static final int FIRST_BYTES = 256;
  private static final Kryo KRYO = create();

  private PlainKryo() {}

  private static Kryo create() {
    KryoSerializer serializer = new KryoSerializer(new SparkConf(false));
    // Else it would keep the class loader of the first task, for as long as the process lives.
    serializer.setDefaultClassLoader(PlainKryo.class.getClassLoader());
    return serializer.newKryo();
  }

  /** The class of the serializer that writes objects of {@code type}. */
  static Class<?> serializerOf(Class<?> type) {
    synchronized (KRYO) {
      return KRYO.getRegistration(type).getSerializer().getClass();
    }
  }

  /**
   * What is written of {@code object}, without its class.
   *
   * @param references whether references to objects that were written before are tracked, which takes a byte
   */
  static byte[] bytes(Object object, boolean references) {
    synchronized (KRYO) {
      KRYO.setReferences(references);
      return bytes(KRYO, object);
    }
  }

  /** What {@code kryo} writes of {@code object}, without its class. */
  static byte[] bytes(Kryo kryo, Object object) {
    Output bytes = new Output(FIRST_BYTES, -1);
    kryo.writeObject(bytes, object);
    return bytes.toBytes();
  }
}
