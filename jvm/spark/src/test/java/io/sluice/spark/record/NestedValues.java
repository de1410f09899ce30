package io.sluice.spark.record;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.lang.reflect.Array;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.sql.Date;
import java.sql.Timestamp;
import java.time.Instant;
import java.time.LocalDate;
import java.util.Random;
import org.apache.hadoop.io.BooleanWritable;
import org.apache.hadoop.io.ByteWritable;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.DoubleWritable;
import org.apache.hadoop.io.FloatWritable;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.io.ShortWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.VIntWritable;
import scala.None$;
import scala.Product;
import scala.Some;
import scala.Tuple2;
import scala.Tuple3;
import scala.Tuple4;
import scala.Tuple5;
import scala.collection.Iterator;
import scala.collection.Seq;
import scala.collection.immutable.Nil$;
import scala.math.BigInt;
import scala.runtime.BoxedUnit;

/** Random values of every class that {@link NestedTag} has. */
final class NestedValues {
  private final Random random;
  private final boolean writables;

  NestedValues(long seed, boolean writables) {
    this.random = new Random(seed);
    this.writables = writables;
  }

  /** A value with at most {@code depth} values within each other. */
  Object value(int depth) {
    int kind = random.nextInt(depth > 0 ? 8 : 4);
    return switch (kind) {
      case 0 -> scalar();
      case 1 -> writables && random.nextBoolean() ? writable() : number();
      case 2 -> text();
      case 3 -> array();
      case 4 -> tuple(depth - 1);
      case 5 -> MoreNestedValues.sequence(random, i -> value(depth - 1));
      case 6 -> MoreNestedValues.setOrMap(random, i -> element(), i -> value(depth - 1));
      default -> container(depth - 1);
    };
  }

  private Object scalar() {
    return switch (random.nextInt(11)) {
      case 0 -> null;
      case 1 -> BoxedUnit.UNIT;
      case 2 -> random.nextBoolean();
      case 3 -> (byte) random.nextInt();
      case 4 -> (short) random.nextInt();
      case 5 -> (char) random.nextInt();
      case 6 -> random.nextInt() >> random.nextInt(32);
      case 7 -> random.nextLong() >> random.nextInt(64);
      case 8 -> Float.intBitsToFloat(random.nextInt());
      case 9 -> Double.longBitsToDouble(random.nextLong());
      default -> random.nextBoolean() ? None$.MODULE$ : Nil$.MODULE$;
    };
  }

  private Object number() {
    byte[] bytes = new byte[1 + random.nextInt(20)];
    random.nextBytes(bytes);
    BigInteger integer = new BigInteger(bytes);
    return switch (random.nextInt(9)) {
      case 7, 8 -> MoreNestedValues.scalar(random);
      case 0 -> integer;
      case 1 -> new BigDecimal(integer, random.nextInt() >> random.nextInt(32));
      case 2 -> new BigInt(integer);
      case 3 -> new Date(random.nextLong() >> 16);
      case 4 -> timestamp();
      case 5 -> LocalDate.ofEpochDay(random.nextInt());
      default -> Instant.ofEpochSecond(random.nextInt(), random.nextInt(1_000_000_000));
    };
  }

  private Timestamp timestamp() {
    Timestamp timestamp = new Timestamp(random.nextLong() >> 16);
    timestamp.setNanos(random.nextInt(1_000_000_000));
    return timestamp;
  }

  private String text() {
    int length = random.nextInt(20) == 0 ? random.nextInt(5000) : random.nextInt(12);
    int bits = random.nextBoolean() ? 0x7F : random.nextBoolean() ? 0xFF : 0xFFFF;
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < length; i++) {
      // Lone surrogates too.
      text.append((char) (bits == 0xFFFF && random.nextInt(4) == 0 ? 0xD800 + random.nextInt(0x800)
          : random.nextInt() & bits));
    }
    return text.toString();
  }

  private Object array() {
    Class<?>[] types = {byte.class, boolean.class, short.class, char.class, int.class, long.class, float.class,
      double.class};
    Class<?> type = types[random.nextInt(types.length)];
    int length = random.nextInt(20) == 0 ? random.nextInt(3000) : random.nextInt(6);
    Object array = Array.newInstance(type, length);
    for (int i = 0; i < length; i++) {
      Array.set(array, i, element(type));
    }
    return array;
  }

  /** An object that hashes its value. */
  private Object element() {
    return switch (random.nextInt(4)) {
      case 0 -> text();
      case 1 -> random.nextInt() >> random.nextInt(32);
      case 2 -> new Tuple2<>(random.nextInt(3), text());
      default -> random.nextLong() >> random.nextInt(64);
    };
  }

  private Object element(Class<?> type) {
    if (type == byte.class) {
      return (byte) random.nextInt();
    } else if (type == boolean.class) {
      return random.nextBoolean();
    } else if (type == short.class) {
      return (short) random.nextInt();
    } else if (type == char.class) {
      return (char) random.nextInt();
    } else if (type == int.class) {
      return random.nextInt();
    } else if (type == long.class) {
      return random.nextLong();
    }
    return type == float.class ? (Object) random.nextFloat() : (Object) random.nextDouble();
  }

  private Object tuple(int depth) {
    return switch (random.nextInt(6)) {
      case 0, 1 -> new Tuple2<>(value(depth), value(depth));
      case 2 -> new Tuple3<>(value(depth), value(depth), value(depth));
      case 3 -> new Tuple4<>(value(depth), value(depth), value(depth), value(depth));
      case 4 -> random.nextBoolean() ? tupleOfOtherLength(depth)
          : new Tuple5<>(value(depth), value(depth), value(depth), value(depth), value(depth));
      default -> random.nextBoolean() ? new scala.Tuple2$mcIJ$sp(random.nextInt(), random.nextLong())
          : new scala.Tuple2$mcDD$sp(random.nextDouble(), random.nextInt());
    };
  }

  private Object tupleOfOtherLength(int depth) {
    Object[] parts = new Object[random.nextInt(4) == 0 ? 1 : 6 + random.nextInt(17)];
    for (int i = 0; i < parts.length; i++) {
      parts[i] = i < 3 ? value(depth) : scalar();
    }
    return Tuples.of(parts);
  }

  private Object container(int depth) {
    return switch (random.nextInt(6)) {
      case 0, 1 -> new Some<>(value(depth));
      case 2 -> Sequences.list(values(depth));
      case 3 -> Sequences.vector(values(depth));
      case 4 -> Sequences.arrayBuffer(values(depth));
      default -> random.nextBoolean() ? values(depth) : strings();
    };
  }

  private Object[] values(int depth) {
    Object[] values = new Object[random.nextInt(depth == 0 ? 50 : 5)];
    for (int i = 0; i < values.length; i++) {
      values[i] = value(depth);
    }
    return values;
  }

  private String[] strings() {
    String[] strings = new String[random.nextInt(5)];
    for (int i = 0; i < strings.length; i++) {
      strings[i] = random.nextInt(5) == 0 ? null : text();
    }
    return strings;
  }

  private Object writable() {
    return switch (random.nextInt(10)) {
      case 7 -> new VIntWritable(random.nextInt());
      case 8 -> random.nextBoolean() ? new ShortWritable((short) random.nextInt())
          : new ByteWritable((byte) random.nextInt());
      case 0, 1 -> new Text("text " + random.nextInt() + (char) (0x100 + random.nextInt(0x1000)));
      case 2 -> new BytesWritable(text().getBytes(java.nio.charset.StandardCharsets.UTF_8));
      case 3 -> new IntWritable(random.nextInt());
      case 4 -> new LongWritable(random.nextLong());
      case 5 -> random.nextBoolean() ? new FloatWritable(random.nextFloat()) : new DoubleWritable(random.nextDouble());
      case 6 -> new BooleanWritable(random.nextBoolean());
      default -> NullWritable.get();
    };
  }

  /** Asserts that {@code actual} equals {@code expected} in all its parts, and that their classes are the same. */
  static void assertSameValue(Object expected, Object actual) {
    if (expected == null) {
      assertSame(null, actual);
      return;
    }
    assertSame(expected.getClass(), actual.getClass());
    if (expected.getClass().isArray()) {
      assertEquals(Array.getLength(expected), Array.getLength(actual));
      for (int i = 0; i < Array.getLength(expected); i++) {
        assertSameValue(Array.get(expected, i), Array.get(actual, i));
      }
    } else if (MoreNestedValues.isCollection(expected)) {
      assertSameValue(MoreNestedValues.inOrder(expected), MoreNestedValues.inOrder(actual));
    } else if (expected instanceof Product product) {
      // Lists are products as well.
      assertSameParts(product, (Product) actual);
    } else if (expected instanceof Seq<?> elements) {
      assertSameElements(elements, (Seq<?>) actual);
    } else {
      assertEquals(expected, actual);
    }
  }

  private static void assertSameParts(Product expected, Product actual) {
    if (expected instanceof Seq<?> elements) {
      assertSameElements(elements, (Seq<?>) actual);
      return;
    }
    for (int i = 0; i < expected.productArity(); i++) {
      assertSameValue(expected.productElement(i), actual.productElement(i));
    }
  }

  private static void assertSameElements(Seq<?> expected, Seq<?> actual) {
    assertEquals(expected.length(), actual.length());
    Iterator<?> elements = expected.iterator();
    Iterator<?> others = actual.iterator();
    while (elements.hasNext()) {
      assertSameValue(elements.next(), others.next());
    }
  }
}
