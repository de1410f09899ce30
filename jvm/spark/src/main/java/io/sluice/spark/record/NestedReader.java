package io.sluice.spark.record;

import io.sluice.spark.SluiceException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.sql.Date;
import java.sql.Timestamp;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.LocalDate;
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
import scala.collection.immutable.Nil$;
import scala.math.BigInt;
import scala.runtime.BoxedUnit;

/**
 * Reads what {@link NestedWriter} wrote; every object is new, and none refers to the memory that is read. Bytes that no
 * writer wrote are an error ({@link NestedInput}), before anything is allocated for them. One thread.
 */
final class NestedReader {
  private final NestedInput in = new NestedInput();

  /** The part in {@code bytes} bytes at {@code offset} in {@code object} (null: at that address). */
  Object read(Object object, long offset, int bytes) {
    open(object, offset, bytes);
    Object value = next();
    if (in.left() != 0) {
      throw NestedInput.damaged("has " + in.left() + " bytes more than its value");
    }
    return value;
  }

  /** Starts with the {@code bytes} bytes at {@code offset} in {@code object}, which hold several values. */
  void open(Object object, long offset, int bytes) {
    in.open(object, offset, bytes);
  }

  /** Whether {@link NestedTag#IN_STREAM} is next; skips it. */
  boolean skipsInStream() {
    return in.skips(NestedTag.IN_STREAM);
  }

  /** The next value. */
  Object next() {
    try {
      return value(0);
    } catch (DateTimeException | ArithmeticException e) {
      throw NestedInput.damaged("has no valid date: " + e.getMessage());
    }
  }

  /** A value that is within {@code depth} others. */
  Object value(int depth) {
    int tag = in.tag();
    if (depth > NestedTag.MOST_DEPTH) {
      throw NestedInput.damaged("is nested deeper than " + NestedTag.MOST_DEPTH);
    }
    return switch (tag) {
      case NestedTag.LATIN1 -> new String(bytes(), StandardCharsets.ISO_8859_1);
      case NestedTag.INTEGER -> (int) in.signed();
      case NestedTag.SOME -> new Some<>(value(depth + 1));
      case NestedTag.TUPLE2 -> new Tuple2<>(value(depth + 1), value(depth + 1));
      case NestedTag.NONE -> None$.MODULE$;
      default -> tag < NestedTag.BYTES ? scalar(tag)
          : tag < NestedTag.NONE ? array(tag, depth + 1)
              : tag < NestedTag.BIG_INTEGER || tag == NestedTag.TUPLE ? container(tag, depth + 1)
                  : tag < NestedTag.ARRAY ? other(tag) : formed(tag, depth + 1);
    };
  }

  /** An array, which does not count as one more value within {@code depth} others. */
  Object array(int depth) {
    int tag = in.tag();
    if (tag >= NestedTag.BYTES && tag < NestedTag.NONE) {
      return array(tag, depth);
    }
    if (tag != NestedTag.ARRAY) {
      throw NestedInput.damaged("has a sequence without an array");
    }
    return formed(tag, depth);
  }

  private Object formed(int tag, int depth) {
    NestedForm form = NestedForms.of(tag);
    if (form == null || form.classes().isEmpty()) {
      throw unknown(tag);
    }
    return form.read(this, depth);
  }

  /** A number of values, and they. */
  Object[] values(int depth) {
    return values(in.count(1), depth);
  }

  /** Where the value is read. */
  NestedInput in() {
    return in;
  }

  private Object scalar(int tag) {
    return switch (tag) {
      case NestedTag.NULL -> null;
      case NestedTag.UNIT -> BoxedUnit.UNIT;
      case NestedTag.FALSE -> false;
      case NestedTag.TRUE -> true;
      case NestedTag.BYTE -> Platform.getByte(in.base(), in.take(Byte.BYTES));
      case NestedTag.SHORT -> Platform.getShort(in.base(), in.take(Short.BYTES));
      case NestedTag.CHARACTER -> (char) Platform.getShort(in.base(), in.take(Short.BYTES));
      case NestedTag.LONG -> in.signed();
      case NestedTag.FLOAT -> Float.intBitsToFloat(Platform.getInt(in.base(), in.take(Integer.BYTES)));
      case NestedTag.DOUBLE -> Double.longBitsToDouble(Platform.getLong(in.base(), in.take(Long.BYTES)));
      case NestedTag.UTF16 -> new String((char[]) primitives(NestedTag.CHARACTERS));
      default -> throw unknown(tag);
    };
  }

  private Object array(int tag, int depth) {
    return switch (tag) {
      case NestedTag.STRINGS -> strings(depth);
      case NestedTag.OBJECTS -> values(depth);
      default -> primitives(tag);
    };
  }

  private Object primitives(int tag) {
    int elementBytes = NestedTag.elementBytes(tag);
    int count = in.count(elementBytes);
    Object array = switch (tag) {
      case NestedTag.BYTES -> new byte[count];
      case NestedTag.BOOLEANS -> new boolean[count];
      case NestedTag.SHORTS -> new short[count];
      case NestedTag.CHARACTERS -> new char[count];
      case NestedTag.INTEGERS -> new int[count];
      case NestedTag.LONGS -> new long[count];
      case NestedTag.FLOATS -> new float[count];
      case NestedTag.DOUBLES -> new double[count];
      default -> throw unknown(tag);
    };
    long bytes = (long) count * elementBytes;
    Platform.copyMemory(in.base(), in.take(bytes), array, NestedTag.elementsAt(tag), bytes);
    return array;
  }

  private String[] strings(int depth) {
    String[] strings = new String[in.count(1)];
    for (int i = 0; i < strings.length; i++) {
      Object string = value(depth);
      if (string != null && string.getClass() != String.class) {
        throw NestedInput.damaged("has a " + string.getClass().getName() + " in an array of strings");
      }
      strings[i] = (String) string;
    }
    return strings;
  }

  private Object[] values(int count, int depth) {
    Object[] values = new Object[count];
    for (int i = 0; i < count; i++) {
      values[i] = value(depth);
    }
    return values;
  }

  private Object container(int tag, int depth) {
    return switch (tag) {
      case NestedTag.SPECIALIZED -> Pairs.make(value(depth), value(depth));
      case NestedTag.TUPLE3 -> new Tuple3<>(value(depth), value(depth), value(depth));
      case NestedTag.TUPLE4 -> new Tuple4<>(value(depth), value(depth), value(depth), value(depth));
      case NestedTag.TUPLE5 -> new Tuple5<>(value(depth), value(depth), value(depth), value(depth), value(depth));
      case NestedTag.TUPLE -> tuple(values(depth));
      case NestedTag.NIL -> Nil$.MODULE$;
      case NestedTag.LIST -> Sequences.list(values(depth));
      case NestedTag.VECTOR -> Sequences.vector(values(depth));
      case NestedTag.ARRAY_BUFFER -> Sequences.arrayBuffer(values(depth));
      default -> throw unknown(tag);
    };
  }

  private Object tuple(Object[] parts) {
    Object tuple = Tuples.of(parts);
    if (tuple == null) {
      throw NestedInput.damaged("has a tuple of " + parts.length + " parts");
    }
    return tuple;
  }

  private Object other(int tag) {
    return switch (tag) {
      case NestedTag.BIG_INTEGER -> bigInteger();
      case NestedTag.BIG_DECIMAL -> bigDecimal((int) in.signed());
      case NestedTag.BIG_INT -> new BigInt(bigInteger());
      case NestedTag.DATE -> new Date(in.signed());
      case NestedTag.TIMESTAMP -> timestamp(in.signed(), in.number());
      case NestedTag.LOCAL_DATE -> LocalDate.ofEpochDay(in.signed());
      case NestedTag.INSTANT -> Instant.ofEpochSecond(in.signed(), in.number());
      default -> writable(tag);
    };
  }

  private Object writable(int tag) {
    return switch (tag) {
      case NestedTag.TEXT -> text();
      case NestedTag.BYTES_WRITABLE -> new BytesWritable(bytes());
      case NestedTag.INT_WRITABLE -> new IntWritable((int) in.signed());
      case NestedTag.LONG_WRITABLE -> new LongWritable(in.signed());
      case NestedTag.FLOAT_WRITABLE ->
          new FloatWritable(Float.intBitsToFloat(Platform.getInt(in.base(), in.take(Integer.BYTES))));
      case NestedTag.DOUBLE_WRITABLE ->
          new DoubleWritable(Double.longBitsToDouble(Platform.getLong(in.base(), in.take(Long.BYTES))));
      case NestedTag.BOOLEAN_WRITABLE -> new BooleanWritable(Platform.getByte(in.base(), in.take(1)) != 0);
      case NestedTag.NULL_WRITABLE -> NullWritable.get();
      default -> throw unknown(tag);
    };
  }

  private Text text() {
    byte[] bytes = bytes();
    Text text = new Text();
    text.set(bytes, 0, bytes.length);
    return text;
  }

  private BigInteger bigInteger() {
    byte[] bytes = bytes();
    if (bytes.length == 0) {
      throw NestedInput.damaged("has a number of no bytes");
    }
    return new BigInteger(bytes);
  }

  BigDecimal bigDecimal(int scale) {
    return new BigDecimal(bigInteger(), scale);
  }

  private Timestamp timestamp(long millis, long nanos) {
    if (nanos < 0 || nanos >= 1_000_000_000) {
      throw NestedInput.damaged("has " + nanos + " nanoseconds");
    }
    Timestamp timestamp = new Timestamp(millis);
    timestamp.setNanos((int) nanos);
    return timestamp;
  }

  private byte[] bytes() {
    return (byte[]) primitives(NestedTag.BYTES);
  }

  private SluiceException unknown(int tag) {
    return NestedInput.damaged("has a value of the unknown type " + tag);
  }
}
