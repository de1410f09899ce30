package io.sluice.spark.record;

import com.esotericsoftware.kryo.Kryo;
import com.esotericsoftware.kryo.io.Input;
import com.esotericsoftware.kryo.io.Output;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.sql.Date;
import java.sql.Timestamp;
import java.time.Instant;
import java.time.LocalDate;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import org.apache.hadoop.io.BooleanWritable;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.DoubleWritable;
import org.apache.hadoop.io.FloatWritable;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.io.Text;
import org.apache.spark.serializer.JavaSerializer;
import org.apache.spark.serializer.KryoSerializer;
import org.apache.spark.serializer.Serializer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.None$;
import scala.Some;
import scala.Tuple2;
import scala.Tuple3;
import scala.Tuple4;
import scala.Tuple5;
import scala.Tuple6;
import scala.collection.immutable.Nil$;
import scala.math.BigInt;
import scala.runtime.BoxedUnit;

/**
 * Which of the classes that {@link NestedTag} has may be written without the shuffle's serializer: those that it would
 * give back as they were. A class that it refuses stays with it, and is refused as on stock. One thread.
 */
abstract class NestedClasses {
  /** For serializers all of whose records are serialized. */
  static final NestedClasses NO_CLASSES = new NestedClasses() {
    @Override
    boolean allow(int tag, Object object) {
      return false;
    }
  };

  /** For rows that are not in place of a serializer's bytes. */
  static final NestedClasses ALL_CLASSES = new NestedClasses() {
    @Override
    boolean allow(int tag, Object object) {
      return true;
    }
  };

  /** @param flatPartsAreSparks whether {@link #allowFlatParts} is known to be true of the shuffle's serializer */
  static NestedClasses of(Serializer serializer, boolean flatPartsAreSparks) {
    if (serializer.getClass() == JavaSerializer.class) {
      return new OfJava();
    }
    return serializer.getClass() == KryoSerializer.class
        ? new OfKryo((KryoSerializer) serializer, flatPartsAreSparks) : NO_CLASSES;
  }

  /** Whether {@code object}, whose class has the tag {@code tag}, may be written with that tag. */
  abstract boolean allow(int tag, Object object);

  /**
   * Whether the serializer's own way is Spark's for all classes of flat parts ({@link PartType}) and pairs of them, but
   * for specialized pairs: each of their classes is asked for ({@link #allow}).
   */
  final boolean allowFlatParts() {
    for (int tag = NestedTag.UNIT; tag < NestedTag.END; tag++) {
      // Two tags are of the same class as another.
      if (isFlat(tag) && tag != NestedTag.FALSE && tag != NestedTag.UTF16 && !allow(tag, sample(tag, Object.class))) {
        return false;
      }
    }
    return true;
  }

  private static boolean isFlat(int tag) {
    return tag <= NestedTag.BYTES || tag == NestedTag.TUPLE2;
  }

  /** Whether the serializer gives back one object for one that key and value of a record both refer to. */
  boolean keyAndValueShareObjects() {
    return false;
  }

  /** Whether the serializer gives back hash tables as long as they were. */
  boolean keepTables() {
    return false;
  }

  /** Java's serializer gives back all but Hadoop's types, which it refuses. */
  private static final class OfJava extends NestedClasses {
    @Override
    boolean allow(int tag, Object object) {
      return tag < NestedTag.TEXT || tag == NestedTag.TUPLE
          || tag >= NestedTag.ARRAY && NestedForms.of(tag).isSerializable();
    }

    @Override
    boolean keepTables() {
      return true;
    }

    @Override
    boolean keyAndValueShareObjects() {
      return true;
    }
  }

  /**
   * Kryo may require that classes are registered, and a job may register a serializer for any class, its own or another
   * of Kryo's: one that encrypts, for example. So each class is looked up when it is first met: it must have exactly
   * the serializer that it has where no setting is made ({@link PlainKryo}), which must write the same bytes of an
   * object of its kind and read it back. Parts of objects are looked up as objects of their own.
   */
  private static final class OfKryo extends NestedClasses {
    private static final Logger LOG = LoggerFactory.getLogger(NestedClasses.class);
    private static final int FIRST_BYTES = 256;

    private final KryoSerializer serializer;
    private final boolean flatPartsAreSparks;
    private final Class<?>[] allowed = new Class<?>[NestedTag.END];
    private final Map<Class<?>, Boolean> known = new HashMap<>();
    private Kryo kryo;

    OfKryo(KryoSerializer serializer, boolean flatPartsAreSparks) {
      this.serializer = serializer;
      this.flatPartsAreSparks = flatPartsAreSparks;
    }

    @Override
    boolean allow(int tag, Object object) {
      if (object == null || flatPartsAreSparks && isFlat(tag)) {
        return true;
      }
      return allowClass(tag, object) && (tag != NestedTag.COMPACT_BUFFER || allowArrayOf(object));
    }

    /** Kryo writes the third element of a buffer and those behind it as an array. */
    private boolean allowArrayOf(Object buffer) {
      Object array = ScalaForms.emptyArrayOf(buffer);
      int tag = NestedTag.of(array);
      return array != null && tag != NestedTag.UNKNOWN && allowClass(tag, array);
    }

    private boolean allowClass(int tag, Object object) {
      if (allowed[tag] == object.getClass()) {
        return true;
      }
      boolean allow = known.computeIfAbsent(object.getClass(), type -> isStocks(tag, type));
      if (allow) {
        allowed[tag] = object.getClass();
      }
      return allow;
    }

    private boolean isStocks(int tag, Class<?> type) {
      try {
        if (kryo == null) {
          kryo = serializer.newKryo();
        }
        if (tag == NestedTag.COMPACT_BUFFER && kryo.isRegistrationRequired()) {
          // Class tags have many classes, which may not be registered.
          return false;
        }
        return kryo.getRegistration(type).getSerializer().getClass() == PlainKryo.serializerOf(type)
            && writesPlainBytes(tag, type) && comesBack(sample(tag, type));
      } catch (RuntimeException e) {
        LOG.debug("Kryo does not write {}: its records are left to it", type.getName(), e);
        return false;
      }
    }

    /** A serializer may be configured, and leave fields to others: {@code Text} is a field that is a byte array. */
    private boolean writesPlainBytes(int tag, Class<?> type) {
      if (tag == NestedTag.BIG_INT) {
        // With its field's class, whose number depends on how many classes the job registers.
        return isStocks(NestedTag.BIG_INTEGER, BigInteger.class);
      } else if (tag == NestedTag.SCALA_BIG_DECIMAL) {
        return isStocks(NestedTag.BIG_DECIMAL, BigDecimal.class);
      }
      Object sample = sample(tag, type);
      return hasParts(tag)
          || Arrays.equals(PlainKryo.bytes(kryo, sample), PlainKryo.bytes(sample, kryo.getReferences()));
    }

    private static boolean hasParts(int tag) {
      return tag >= NestedTag.STRINGS && tag < NestedTag.BIG_INTEGER || tag == NestedTag.TUPLE
          || tag >= NestedTag.ARRAY && NestedForms.of(tag).hasValues();
    }

    private boolean comesBack(Object sample) {
      Output bytes = new Output(FIRST_BYTES, -1);
      kryo.writeClassAndObject(bytes, sample);
      Object back = kryo.readClassAndObject(new Input(bytes.toBytes()));
      return back != null && back.getClass() == sample.getClass() && Objects.deepEquals(sample, back);
    }
  }

  /** An object of the tag, and of {@code type} if it has several classes, in which the order and each part matter. */
  static Object sample(int tag, Class<?> type) {
    return tag == NestedTag.SPECIALIZED ? Pairs.sample(type)
        : tag >= NestedTag.ARRAY ? NestedForms.of(tag).sample(type) : sample(tag);
  }

  private static Object sample(int tag) {
    if (tag == NestedTag.TUPLE) {
      return new Tuple6<>("a", 1, null, 2L, "b", 3.0);
    }
    if (tag >= NestedTag.TEXT) {
      return writable(tag);
    }
    if (tag >= NestedTag.BYTES && tag <= NestedTag.OBJECTS) {
      return array(tag);
    }
    return tag >= NestedTag.NONE ? container(tag) : scalar(tag);
  }

  private static Object scalar(int tag) {
    return switch (tag) {
      case NestedTag.UNIT -> BoxedUnit.UNIT;
      case NestedTag.TRUE -> true;
      case NestedTag.BYTE -> (byte) -1;
      case NestedTag.SHORT -> (short) -2;
      case NestedTag.CHARACTER -> '\u1234';
      case NestedTag.INTEGER -> -3;
      case NestedTag.LONG -> -4L << Integer.SIZE;
      case NestedTag.FLOAT -> 0.5f;
      case NestedTag.DOUBLE -> -0.1;
      case NestedTag.LATIN1 -> "text \u1234";
      default -> throw new IllegalArgumentException("tag " + tag);
    };
  }

  private static Object array(int tag) {
    return switch (tag) {
      case NestedTag.BYTES -> new byte[] {1, -2};
      case NestedTag.BOOLEANS -> new boolean[] {true, false};
      case NestedTag.SHORTS -> new short[] {1, -2};
      case NestedTag.CHARACTERS -> new char[] {'a', '\u1234'};
      case NestedTag.INTEGERS -> new int[] {1, -2};
      case NestedTag.LONGS -> new long[] {1, -2L << Integer.SIZE};
      case NestedTag.FLOATS -> new float[] {0.5f, -1};
      case NestedTag.DOUBLES -> new double[] {0.1, -1};
      case NestedTag.STRINGS -> new String[] {"a", null, "b"};
      default -> new Object[] {"a", null, 1};
    };
  }

  private static Object container(int tag) {
    return switch (tag) {
      case NestedTag.NONE -> None$.MODULE$;
      case NestedTag.SOME -> new Some<>("a");
      case NestedTag.TUPLE2 -> new Tuple2<>("a", 1);
      case NestedTag.TUPLE3 -> new Tuple3<>("a", 1, null);
      case NestedTag.TUPLE4 -> new Tuple4<>("a", 1, null, 2L);
      case NestedTag.TUPLE5 -> new Tuple5<>("a", 1, null, 2L, "b");
      case NestedTag.NIL -> Nil$.MODULE$;
      case NestedTag.LIST -> Sequences.list(new Object[] {"a", null, 1});
      case NestedTag.VECTOR -> Sequences.vector(new Object[] {"a", null, 1});
      case NestedTag.ARRAY_BUFFER -> Sequences.arrayBuffer(new Object[] {"a", null, 1});
      default -> number(tag);
    };
  }

  private static Object number(int tag) {
    return switch (tag) {
      case NestedTag.BIG_INTEGER -> BigInteger.ONE.shiftLeft(100).negate();
      case NestedTag.BIG_DECIMAL -> new BigDecimal(BigInteger.ONE.shiftLeft(100), -7);
      case NestedTag.BIG_INT -> new BigInt(BigInteger.ONE.shiftLeft(100).negate());
      case NestedTag.DATE -> new Date(-86_400_001);
      case NestedTag.TIMESTAMP -> timestamp();
      case NestedTag.LOCAL_DATE -> LocalDate.ofEpochDay(-1);
      default -> Instant.ofEpochSecond(-1, 1_000_001);
    };
  }

  private static Timestamp timestamp() {
    Timestamp timestamp = new Timestamp(-1);
    timestamp.setNanos(1_000_001);
    return timestamp;
  }

  private static Object writable(int tag) {
    return switch (tag) {
      case NestedTag.TEXT -> new Text("text \u1234");
      case NestedTag.BYTES_WRITABLE -> new BytesWritable(new byte[] {1, -2});
      case NestedTag.INT_WRITABLE -> new IntWritable(-1);
      case NestedTag.LONG_WRITABLE -> new LongWritable(-1L << Integer.SIZE);
      case NestedTag.FLOAT_WRITABLE -> new FloatWritable(0.5f);
      case NestedTag.DOUBLE_WRITABLE -> new DoubleWritable(0.1);
      case NestedTag.BOOLEAN_WRITABLE -> new BooleanWritable(true);
      default -> NullWritable.get();
    };
  }
}
