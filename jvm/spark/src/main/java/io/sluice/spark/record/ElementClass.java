package io.sluice.spark.record;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import scala.Option;
import scala.Some;
import scala.Tuple2;
import scala.Tuple3;
import scala.Tuple4;
import scala.Tuple5;
import scala.collection.immutable.List;
import scala.collection.immutable.Vector;

/** The classes that elements of arrays can be declared to have, as codes. Codes are stored in frames: never change one. */
final class ElementClass {
  static final int UNKNOWN = -1;

  private static final Class<?>[] CLASSES = {Object.class,
    boolean.class, byte.class, short.class, char.class, int.class, long.class, float.class, double.class,
    String.class, Boolean.class, Byte.class, Short.class, Character.class, Integer.class, Long.class, Float.class,
    Double.class,
    boolean[].class, byte[].class, short[].class, char[].class, int[].class, long[].class, float[].class,
    double[].class, String[].class, Object[].class,
    Tuple2.class, Tuple3.class, Tuple4.class, Tuple5.class, Option.class, Some.class, List.class, Vector.class,
    scala.collection.Seq.class, scala.collection.immutable.Seq.class,
    BigInteger.class, BigDecimal.class, scala.math.BigDecimal.class,
    Text.class, BytesWritable.class, IntWritable.class, LongWritable.class};
  private static final Map<Class<?>, Integer> CODES = codes();

  private ElementClass() {}

  private static Map<Class<?>, Integer> codes() {
    Map<Class<?>, Integer> codes = new HashMap<>();
    for (int i = 0; i < CLASSES.length; i++) {
      codes.put(CLASSES[i], i);
    }
    return codes;
  }

  static int count() {
    return CLASSES.length;
  }

  /** The code of {@code type}, or {@link #UNKNOWN}. */
  static int codeOf(Class<?> type) {
    return CODES.getOrDefault(type, UNKNOWN);
  }

  static Class<?> of(int code) {
    if (code < 0 || code >= CLASSES.length) {
      throw NestedInput.damaged("has elements of the unknown class " + code);
    }
    return CLASSES[code];
  }
}
