package io.sluice.spark.record;

import org.apache.spark.serializer.JavaSerializer;
import org.apache.spark.serializer.KryoSerializer;
import org.apache.spark.serializer.Serializer;

/** Which serializers' records may be written without them. */
final class SerializerChoice {
  private SerializerChoice() {}

  /**
   * Whether {@code serializer} is one of Spark's own, and no subclass of them: any other may do more than make bytes,
   * it may encrypt, check or audit. Of Spark's, Kryo may do so too, for classes that a registrator has given it a
   * serializer for ({@link NestedClasses}).
   */
  static boolean isSparks(Serializer serializer) {
    return serializer.getClass() == JavaSerializer.class || serializer.getClass() == KryoSerializer.class;
  }
}
