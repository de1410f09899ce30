package io.sluice.spark.record;

import org.apache.spark.SparkConf;
import org.apache.spark.serializer.JavaSerializer;
import org.apache.spark.serializer.KryoSerializer;
import org.apache.spark.serializer.Serializer;

/** Which records may be written without the shuffle's serializer. */
public final class SerializerChoice {
  private SerializerChoice() {}

  /**
   * Whether records that have a shape may be written as rows in place of {@code serializer}'s bytes. Only for Spark's
   * own serializers, and no subclass of them: any other may do more than make bytes, it may encrypt, check or audit.
   */
  public static boolean rowsMayReplace(Serializer serializer) {
    return serializer.getClass() == JavaSerializer.class || serializer.getClass() == KryoSerializer.class;
  }

  /** As {@link #rowsMayReplace(Serializer)}, and no registrator of the job gave Kryo a serializer for such records. */
  public static boolean rowsMayReplace(Serializer serializer, SparkConf conf) {
    return rowsMayReplace(serializer) && NestedClasses.of(serializer, conf).allowFlatParts();
  }
}
