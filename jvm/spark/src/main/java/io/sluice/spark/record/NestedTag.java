package io.sluice.spark.record;

import java.lang.reflect.Array;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.sql.Date;
import java.sql.Timestamp;
import java.time.Instant;
import java.time.LocalDate;
import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.io.BooleanWritable;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.DoubleWritable;
import org.apache.hadoop.io.FloatWritable;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.io.Text;
import org.apache.spark.unsafe.Platform;
import scala.None$;
import scala.Some;
import scala.Tuple2;
import scala.Tuple3;
import scala.Tuple4;
import scala.Tuple5;
import scala.collection.immutable.$colon$colon;
import scala.collection.immutable.Nil$;
import scala.collection.immutable.Vector;
import scala.collection.mutable.ArrayBuffer;
import scala.math.BigInt;
import scala.runtime.BoxedUnit;

/**
 * The first byte of each value in a nested part ({@link PartType#NESTED}); what follows it is at its constant. A
 * {@code value} is a tag and what follows that. Tags are stored in frames: never change one.
 *
 * <p>{@code number} is an unsigned number, seven bits a byte, low bits first, all bytes but the last with the high bit
 * set; {@code signed} is a number with its sign moved to the lowest bit (as in Protocol Buffers' zigzag). Elements of
 * arrays and words of fixed size have the machine's byte order, as all of a row.
 */
final class NestedTag {
  /** Among the keys of serialized records: the key is in their stream. */
  static final int IN_STREAM = 0;
  static final int NULL = 1;
  static final int UNIT = 2;
  static final int FALSE = 3;
  static final int TRUE = 4;
  /** One byte. */
  static final int BYTE = 5;
  /** Two bytes. */
  static final int SHORT = 6;
  /** Two bytes. */
  static final int CHARACTER = 7;
  /** A signed. */
  static final int INTEGER = 8;
  /** A signed. */
  static final int LONG = 9;
  /** Four bytes. */
  static final int FLOAT = 10;
  /** Eight bytes. */
  static final int DOUBLE = 11;
  /** A number, and so many bytes. */
  static final int LATIN1 = 12;
  /** A number, and so many characters of two bytes. */
  static final int UTF16 = 13;

  /** Arrays of primitives: the number of elements, and the elements. */
  static final int BYTES = 14;
  static final int BOOLEANS = 15;
  static final int SHORTS = 16;
  static final int CHARACTERS = 17;
  static final int INTEGERS = 18;
  static final int LONGS = 19;
  static final int FLOATS = 20;
  static final int DOUBLES = 21;
  /** Arrays of objects: the number of elements, and as many values. */
  static final int STRINGS = 22;
  static final int OBJECTS = 23;

  static final int NONE = 24;
  /** A value. */
  static final int SOME = 25;
  /** As many values as the tuple has. */
  static final int TUPLE2 = 26;
  /** A pair of one of Scala's classes for two numbers: two values. */
  static final int SPECIALIZED = 27;
  static final int TUPLE3 = 28;
  static final int TUPLE4 = 29;
  static final int TUPLE5 = 30;
  static final int NIL = 31;
  /** Sequences: the number of elements, and as many values. A list has at least one. */
  static final int LIST = 32;
  static final int VECTOR = 33;
  static final int ARRAY_BUFFER = 34;

  /** The number of bytes, and the two's complement, high byte first. */
  static final int BIG_INTEGER = 35;
  /** The scale, a signed; then as {@link #BIG_INTEGER} the unscaled value. */
  static final int BIG_DECIMAL = 36;
  /** Scala's, as {@link #BIG_INTEGER}. */
  static final int BIG_INT = 37;
  /** Milliseconds, a signed. */
  static final int DATE = 38;
  /** Milliseconds, a signed, and nanoseconds of the second, a number. */
  static final int TIMESTAMP = 39;
  /** Days, a signed. */
  static final int LOCAL_DATE = 40;
  /** Seconds, a signed, and nanoseconds of the second, a number. */
  static final int INSTANT = 41;

  /** Hadoop's types, which Java's serializer refuses. Text is its UTF-8: the number of bytes, and the bytes. */
  static final int TEXT = 42;
  static final int BYTES_WRITABLE = 43;
  static final int INT_WRITABLE = 44;
  static final int LONG_WRITABLE = 45;
  static final int FLOAT_WRITABLE = 46;
  static final int DOUBLE_WRITABLE = 47;
  static final int BOOLEAN_WRITABLE = 48;
  static final int NULL_WRITABLE = 49;

  /** A tuple of 1 part or of 6 to 22: the number of parts, and as many values. */
  static final int TUPLE = 50;

  /** An array of another class than those above: the class of its elements (a byte), their number, and as many values. */
  static final int ARRAY = 51;
  /** Scala's sequences that are an array: a value, the array. The second is {@code WrappedArray} in Scala 2.12. */
  static final int ARRAY_SEQ = 52;
  static final int MUTABLE_ARRAY_SEQ = 53;
  /** The number of elements, and as many values. */
  static final int LIST_BUFFER = 54;
  /** Spark's, of {@code groupByKey}: the class of its elements (a byte), their number, and as many values. */
  static final int COMPACT_BUFFER = 55;
  /** A value. */
  static final int LEFT = 56;
  static final int RIGHT = 57;
  /** Start, end and step, three signed. */
  static final int RANGE = 58;
  static final int INCLUSIVE_RANGE = 59;
  /** Immutable ones of at most four elements: their number, and as many values; for a map twice as many. */
  static final int SMALL_SET = 60;
  static final int SMALL_MAP = 61;
  /** Immutable ones, as above. */
  static final int HASH_SET = 62;
  static final int HASH_MAP = 63;
  /** The length of the table, a number, or 0 for the usual one; then as above. */
  static final int MUTABLE_HASH_SET = 64;
  static final int MUTABLE_HASH_MAP = 65;

  /** Java's: the number of elements, and as many values. */
  static final int ARRAY_LIST = 66;
  /** The capacity with which they are made, a number; the number of elements, and as many values; for a map twice. */
  static final int JAVA_HASH_SET = 67;
  static final int JAVA_HASH_MAP = 68;

  /** Scala's, with its usual precision: as {@link #BIG_DECIMAL}. */
  static final int SCALA_BIG_DECIMAL = 69;
  /** Two words of eight bytes. */
  static final int UUID = 70;
  /** Days, a signed, and nanoseconds of the day, a number. */
  static final int LOCAL_DATE_TIME = 71;
  /** Nanoseconds of the day, a number. */
  static final int LOCAL_TIME = 72;
  /** Seconds, a signed, and nanoseconds, a number. */
  static final int DURATION = 73;
  /** Java's, not that of SQL: milliseconds, a signed. */
  static final int JAVA_DATE = 74;

  /** More of Hadoop's: a signed each. */
  static final int V_INT_WRITABLE = 75;
  static final int V_LONG_WRITABLE = 76;
  static final int SHORT_WRITABLE = 77;
  static final int BYTE_WRITABLE = 78;

  /** One more than the last tag. */
  static final int END = 79;
  /** Not a tag: the class has none. */
  static final int UNKNOWN = -1;

  /** Values within values. */
  static final int MOST_DEPTH = 8;

  private static final Map<Class<?>, Integer> TAGS = tags();

  private NestedTag() {}

  /** The tag of objects of a class; of text {@link #LATIN1}, of true and false {@link #TRUE}. */
  static int of(Object object) {
    if (object == null) {
      return NULL;
    }
    Class<?> type = object.getClass();
    if (type == String.class) {
      return LATIN1;
    } else if (type == Integer.class) {
      return INTEGER;
    } else if (type == Tuple2.class) {
      return TUPLE2;
    } else if (type == Some.class) {
      return SOME;
    }
    return ofRarer(object, type);
  }

  private static int ofRarer(Object object, Class<?> type) {
    Integer tag = TAGS.get(type);
    if (tag != null) {
      return tag;
    } else if (object instanceof Vector) {
      // Of Scala 2.13's sealed subclasses, which are made by length.
      return VECTOR;
    }
    return Pairs.isPair(object) ? SPECIALIZED : UNKNOWN;
  }

  private static Map<Class<?>, Integer> tags() {
    Map<Class<?>, Integer> tags = new HashMap<>();
    putScalars(tags);
    putArrays(tags);
    putScala(tags);
    putWritables(tags);
    tags.putAll(Tuples.tags());
    tags.putAll(NestedForms.tags());
    return tags;
  }

  private static void putScalars(Map<Class<?>, Integer> tags) {
    tags.put(BoxedUnit.class, UNIT);
    tags.put(Boolean.class, TRUE);
    tags.put(Byte.class, BYTE);
    tags.put(Short.class, SHORT);
    tags.put(Character.class, CHARACTER);
    tags.put(Long.class, LONG);
    tags.put(Float.class, FLOAT);
    tags.put(Double.class, DOUBLE);
    tags.put(BigInteger.class, BIG_INTEGER);
    tags.put(BigDecimal.class, BIG_DECIMAL);
    tags.put(BigInt.class, BIG_INT);
    tags.put(Date.class, DATE);
    tags.put(Timestamp.class, TIMESTAMP);
    tags.put(LocalDate.class, LOCAL_DATE);
    tags.put(Instant.class, INSTANT);
  }

  private static void putArrays(Map<Class<?>, Integer> tags) {
    tags.put(byte[].class, BYTES);
    tags.put(boolean[].class, BOOLEANS);
    tags.put(short[].class, SHORTS);
    tags.put(char[].class, CHARACTERS);
    tags.put(int[].class, INTEGERS);
    tags.put(long[].class, LONGS);
    tags.put(float[].class, FLOATS);
    tags.put(double[].class, DOUBLES);
    tags.put(String[].class, STRINGS);
    tags.put(Object[].class, OBJECTS);
  }

  private static void putScala(Map<Class<?>, Integer> tags) {
    tags.put(None$.class, NONE);
    tags.put(Tuple3.class, TUPLE3);
    tags.put(Tuple4.class, TUPLE4);
    tags.put(Tuple5.class, TUPLE5);
    tags.put(Nil$.class, NIL);
    tags.put($colon$colon.class, LIST);
    tags.put(ArrayBuffer.class, ARRAY_BUFFER);
  }

  private static void putWritables(Map<Class<?>, Integer> tags) {
    tags.put(Text.class, TEXT);
    tags.put(BytesWritable.class, BYTES_WRITABLE);
    tags.put(IntWritable.class, INT_WRITABLE);
    tags.put(LongWritable.class, LONG_WRITABLE);
    tags.put(FloatWritable.class, FLOAT_WRITABLE);
    tags.put(DoubleWritable.class, DOUBLE_WRITABLE);
    tags.put(BooleanWritable.class, BOOLEAN_WRITABLE);
    tags.put(NullWritable.class, NULL_WRITABLE);
  }

  /** Whether an object of this tag refers to others, or can change: the same one twice is not the same as two. */
  static boolean hasIdentity(int tag, Object value) {
    if (tag >= ARRAY) {
      return NestedForms.of(tag).hasIdentity(value);
    } else if (tag >= BYTES && tag <= OBJECTS) {
      // An empty array can neither change nor refer to anything.
      return Array.getLength(value) > 0;
    }
    // Scala has one empty vector, which records may well have twice.
    return tag >= BYTES && tag != NONE && tag != NIL && (tag < BIG_INTEGER || tag == DATE || tag == TIMESTAMP
        || tag >= TEXT && tag != NULL_WRITABLE) && (tag != VECTOR || !((Vector<?>) value).isEmpty());
  }

  /** Where the elements of an array of primitives start, in bytes from the object's. */
  static int elementsAt(int tag) {
    return switch (tag) {
      case BOOLEANS -> Platform.BOOLEAN_ARRAY_OFFSET;
      case SHORTS -> Platform.SHORT_ARRAY_OFFSET;
      case CHARACTERS -> RecordEncoder.CHAR_ARRAY_OFFSET;
      case INTEGERS -> Platform.INT_ARRAY_OFFSET;
      case LONGS -> Platform.LONG_ARRAY_OFFSET;
      case FLOATS -> Platform.FLOAT_ARRAY_OFFSET;
      case DOUBLES -> Platform.DOUBLE_ARRAY_OFFSET;
      default -> Platform.BYTE_ARRAY_OFFSET;
    };
  }

  /** Bytes of an element of an array of primitives. */
  static int elementBytes(int tag) {
    return switch (tag) {
      case SHORTS, CHARACTERS -> Short.BYTES;
      case INTEGERS, FLOATS -> Integer.BYTES;
      case LONGS, DOUBLES -> Long.BYTES;
      default -> Byte.BYTES;
    };
  }
}
