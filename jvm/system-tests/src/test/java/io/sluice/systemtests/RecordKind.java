package io.sluice.systemtests;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.sql.Timestamp;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import java.util.function.IntFunction;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.Text;
import scala.Option;
import scala.Some;
import scala.Tuple2;
import scala.Tuple3;
import scala.collection.immutable.$colon$colon;
import scala.collection.immutable.Nil$;

/** A class of keys and values; which one of it follows from a number that is not negative. */
enum RecordKind {
  BOOLEAN(n -> n % 2 == 0, Trait.NATURAL),
  BYTE(n -> (byte) n, Trait.NATURAL),
  SHORT(n -> (short) (n * 31), Trait.NATURAL),
  CHARACTER(n -> (char) (n % 700), Trait.NATURAL),
  INTEGER(n -> n % 3 == 0 ? -n : n, Trait.NATURAL),
  LONG(n -> ((long) n << 34) * (n % 2 == 0 ? 1 : -1) + n, Trait.NATURAL),
  FLOAT(n -> (float) special(n), Trait.NATURAL, Trait.LOOSELY_EQUAL),
  DOUBLE(n -> special(n), Trait.NATURAL, Trait.LOOSELY_EQUAL),
  STRING(RecordKind::word, Trait.NATURAL),
  LONG_STRING(RecordKind::longWord, Trait.NATURAL),
  BIG_INTEGER(n -> BigInteger.valueOf(n - 50).pow(5), Trait.NATURAL),
  /** Two neighbours are as large as each other, and not equal. */
  BIG_DECIMAL(n -> n % 2 == 0 ? new BigDecimal(n / 2) : new BigDecimal(BigInteger.valueOf(n / 2 * 10L), 1),
      Trait.NATURAL),
  DATE(n -> LocalDate.ofEpochDay(n * 31L), Trait.NATURAL),
  TIMESTAMP(n -> new Timestamp(n * 1_000_003L), Trait.NATURAL),
  UNIQUE_ID(n -> new UUID((long) n << 60, n), Trait.NATURAL),
  TALLY(n -> new Tally(n % 1000, word(n)), Trait.NATURAL, Trait.REUSABLE),
  PAIR(n -> new Tuple2<>(n % 50, word(n))),
  TRIPLE(n -> new Tuple3<>(n % 10, word(n), n % 2 == 0)),
  NESTED(n -> new Tuple2<>(new Tuple2<>(n % 30, n % 4 == 0 ? null : word(n)), option(n / 30))),
  /** Scala calls tuples of 0.0 and of -0.0 equal, and one of NaN equal to no other. */
  PAIR_OF_DOUBLES(n -> new Tuple2<>(special(n), n % 3), Trait.LOOSELY_EQUAL),
  OPTION(RecordKind::option),
  LIST(n -> new ArrayList<>(Arrays.asList(n % 20, word(n)))),
  SCALA_LIST(RecordKind::scalaList),
  BYTES(n -> word(n).getBytes(StandardCharsets.UTF_8), Trait.ARRAY),
  INTS(n -> new int[] {n % 7, n}, Trait.ARRAY),
  STRINGS(n -> new String[] {word(n), null, "x"}, Trait.ARRAY),
  TEXT(n -> new Text(word(n)), Trait.NATURAL, Trait.KRYO_ONLY, Trait.REUSABLE),
  BYTES_WRITABLE(n -> new BytesWritable(word(n).getBytes(StandardCharsets.UTF_8)), Trait.NATURAL, Trait.KRYO_ONLY);

  private enum Trait {
    /** It has an order of its own. */
    NATURAL,
    /** It is equal to itself only, and so is no key of a hash table. */
    ARRAY,
    /**
     * Which of several equal keys a table keeps, and whether they are equal at all, depends on where they meet: Scala's
     * equality of numbers is not that of Java's objects.
     */
    LOOSELY_EQUAL,
    /** Java's serializer refuses it. */
    KRYO_ONLY,
    /** A job may fill one object again and again, as Hadoop's readers do. */
    REUSABLE
  }

  private final IntFunction<Object> maker;
  private final List<Trait> traits;

  RecordKind(IntFunction<Object> maker, Trait... traits) {
    this.maker = maker;
    this.traits = Arrays.asList(traits);
  }

  Object of(int n) {
    return maker.apply(n);
  }

  /** {@code used}, which is of this kind, with the content that {@link #of} gives; or a new one. */
  Object refilled(Object used, int n) {
    if (used instanceof Tally tally) {
      tally.set(n % 1000, word(n));
      return tally;
    }
    if (used instanceof Text text) {
      text.set(word(n));
      return text;
    }
    return of(n);
  }

  boolean hasOrder() {
    return traits.contains(Trait.NATURAL);
  }

  boolean isArray() {
    return traits.contains(Trait.ARRAY);
  }

  boolean isLooselyEqual() {
    return traits.contains(Trait.LOOSELY_EQUAL);
  }

  boolean needsKryo() {
    return traits.contains(Trait.KRYO_ONLY);
  }

  boolean isReusable() {
    return traits.contains(Trait.REUSABLE);
  }

  private static double special(int n) {
    switch (n % 11) {
      case 0 :
        return Double.NaN;
      case 1 :
        return -0.0;
      case 2 :
        return 0.0;
      case 3 :
        return n % 2 == 0 ? Double.POSITIVE_INFINITY : Double.NEGATIVE_INFINITY;
      default :
        return (n % 2 == 0 ? n : -n) / 3.0;
    }
  }

  /** Texts with long common beginnings, an empty one, and characters of one, two, three and four bytes. */
  private static String word(int n) {
    switch (n % 9) {
      case 0 :
        return "";
      case 1 :
        return "a common beginning " + n;
      case 2 :
        return "\u00e9" + n;
      case 3 :
        return "\u4e16\u754c" + n;
      case 4 :
        return new String(Character.toChars(0x1F600 + n % 50)) + n;
      case 5 :
        return "z\u0000" + n;
      default :
        return Integer.toString(n * 7919, 36);
    }
  }

  private static String longWord(int n) {
    StringBuilder text = new StringBuilder(word(n));
    while (text.length() < 3000) {
      text.append(" and ").append(n);
    }
    return text.toString();
  }

  private static Option<Object> option(int n) {
    return n % 5 == 0 ? Option.empty() : new Some<>(word(n));
  }

  private static Object scalaList(int n) {
    scala.collection.immutable.List<Object> list = new $colon$colon<>(n % 20, new $colon$colon<>(word(n), nil()));
    return list;
  }

  @SuppressWarnings("unchecked") // An empty list has elements of every type.
  private static <T> scala.collection.immutable.List<T> nil() {
    return (scala.collection.immutable.List<T>) (scala.collection.immutable.List<?>) Nil$.MODULE$;
  }
}
