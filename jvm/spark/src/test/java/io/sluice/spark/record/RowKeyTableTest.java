package io.sluice.spark.record;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.sql.Timestamp;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.UUID;
import java.util.stream.IntStream;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import org.apache.hadoop.io.DoubleWritable;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.spark.unsafe.Platform;
import org.junit.jupiter.api.Test;
import scala.Option;
import scala.Some;
import scala.Tuple2;
import scala.Tuple3;
import scala.math.BigInt;
import scala.runtime.BoxedUnit;

/** Keys of rows have the same number exactly when their objects are equal, or are refused. */
class RowKeyTableTest {
  private static final double OTHER_NAN = Double.longBitsToDouble(0x7FF8_0000_0000_0001L);

  private final RecordEncoder encoder = new RecordEncoder();
  private final RowKeyTable table = new RowKeyTable();

  private int find(Object key, Object value) {
    assertTrue(encoder.encode(key, value));
    // Not at the array's start, and with other bytes around: the table must go by the row's offset and length.
    byte[] around = new byte[encoder.length() + 32];
    new Random(1).nextBytes(around);
    System.arraycopy(encoder.buffer(), 0, around, 16, encoder.length());
    return table.find(around, Platform.BYTE_ARRAY_OFFSET + 16, encoder.length());
  }

  private int find(Object key) {
    return find(key, 1L);
  }

  @Provide
  Arbitrary<Object> keys() {
    Arbitrary<Object> small = Arbitraries.integers().between(-3, 3).map(n -> n);
    Arbitrary<Object> text = Arbitraries.strings().withChars('a', 'b', '\u00e9', '\u0416', '\0').ofMaxLength(17)
        .map(s -> s);
    Arbitrary<Object> words = Arbitraries.oneOf(small, small.map(n -> ((Integer) n).longValue()),
        small.map(n -> ((Integer) n).shortValue()), small.map(n -> ((Integer) n).byteValue()),
        small.map(n -> (char) ('a' + (Integer) n)), Arbitraries.of(true, false).map(b -> b),
        Arbitraries.of(0.0, -0.0, 1.0, Double.NaN, Double.NEGATIVE_INFINITY).map(d -> d),
        Arbitraries.of(0f, -0f, 1f, Float.NaN).map(f -> f), Arbitraries.integers().map(n -> n),
        Arbitraries.longs().map(n -> n), Arbitraries.doubles().map(n -> n), text,
        Arbitraries.of(BoxedUnit.UNIT).map(u -> u));
    Arbitrary<Object> pairs = Combinators.combine(Arbitraries.oneOf(small, text), text).as(Tuple2::new);
    return Arbitraries.oneOf(words, words, words, pairs).injectNull(0.05);
  }

  @Property(tries = 400)
  void numbersAreThoseOfAMap(@ForAll("manyKeys") List<Object> keys) {
    RowKeyTable fresh = new RowKeyTable();
    Map<Object, Integer> model = new LinkedHashMap<>();
    for (Object key : keys) {
      assertTrue(encoder.encode(key, key));
      int found = fresh.find(encoder.buffer(), Platform.BYTE_ARRAY_OFFSET, encoder.length());
      if (found == RowKeyTable.REFUSED) {
        assertTrue(key instanceof Tuple2 && !model.keySet().stream().allMatch(k -> sameTypes(k, key)), () -> "" + key);
        continue;
      }
      Integer known = model.get(key);
      assertEquals(known == null ? ~model.size() : known.intValue(), found, () -> key + " among " + model);
      model.putIfAbsent(key, model.size());
    }
    assertEquals(model.size(), fresh.size());
    List<Object> distinct = new ArrayList<>(model.keySet());
    for (int i = 0; i < distinct.size(); i++) {
      assertSameObject(distinct.get(i), fresh.key(i));
    }
    assertArrayEquals(distinct.stream().mapToInt(Objects::hashCode).toArray(), fresh.hashCodes());
    assertEquals(distinct.indexOf(null), fresh.nullNumber());
  }

  @Provide
  Arbitrary<List<Object>> manyKeys() {
    return keys().list().ofMaxSize(300);
  }

  private static boolean sameTypes(Object left, Object right) {
    return !(left instanceof Tuple2<?, ?> l) || !(right instanceof Tuple2<?, ?> r)
        || l._1().getClass() == r._1().getClass();
  }

  private static void assertSameObject(Object expected, Object actual) {
    assertEquals(expected, actual);
    if (expected != null) {
      assertSame(expected.getClass(), actual.getClass());
    }
  }

  @Test
  void itGrows() {
    for (int round = 0; round < 2; round++) {
      for (int i = 0; i < 50_000; i++) {
        assertEquals(round == 0 ? ~(2 * i) : 2 * i, find(i * 64));
        assertEquals(round == 0 ? ~(2 * i + 1) : 2 * i + 1, find("key of some length " + i));
      }
    }
    assertEquals(100_000, table.size());
    for (int i = 0; i < 50_000; i++) {
      assertEquals(i * 64, table.key(2 * i));
      assertEquals("key of some length " + i, table.key(2 * i + 1));
    }
    assertTrue(table.heapBytes() > 50_000 * (16 + 24) + 50_000 * 16);
  }

  @Test
  void numbersOfDifferentClassesAreDifferentKeys() {
    List<Object> ones = List.of(1, 1L, (short) 1, (byte) 1, (char) 1, true, 1.0, 1f, "1", "\1");
    for (int i = 0; i < ones.size(); i++) {
      assertEquals(~i, find(ones.get(i)));
    }
    for (int i = 0; i < ones.size(); i++) {
      assertEquals(i, find(ones.get(i), "another value"));
      assertSameObject(ones.get(i), table.key(i));
    }
  }

  @Test
  void fractionsAreEqualAsObjectsAre() {
    assertEquals(~0, find(0.0));
    assertEquals(~1, find(-0.0));
    assertEquals(~2, find(Double.NaN));
    assertEquals(2, find(Double.NaN));
    assertEquals(RowKeyTable.REFUSED, find(OTHER_NAN));
    assertEquals(RowKeyTable.REFUSED, find(Float.intBitsToFloat(0x7FC0_0001)));
    assertEquals(~3, find(Float.NaN));
    assertEquals(3, find(Float.NaN));
  }

  /** Scala's pairs compare their parts as numbers: of other types only Scala can say whether they are equal. */
  @Test
  void pairsMustHaveTheTypesOfTheFirst() {
    assertEquals(new Tuple2<>(1, "a"), new Tuple2<>(1L, "a"));
    assertEquals(~0, find(new Tuple2<>(1, "a")));
    assertEquals(RowKeyTable.REFUSED, find(new Tuple2<>(1L, "a")));
    assertEquals(RowKeyTable.REFUSED, find(new Tuple2<>(1, 2)));
    assertEquals(RowKeyTable.REFUSED, find(new Tuple2<>("a", 1)));
    assertEquals(RowKeyTable.REFUSED, find(new Tuple2<>(null, "a")));
    assertEquals(0, find(new Tuple2<>(1, "a")));
    assertEquals(~1, find(new Tuple2<>(1, "\u0416")));
    assertEquals(~2, find(new Tuple2<>(1, null)));
    assertEquals(~3, find(new Tuple2<>(1, "")));
    assertEquals(~4, find("a"));
    assertEquals(new Tuple2<>(1, "\u0416"), table.key(1));
    assertEquals(new Tuple2<>(1, null), table.key(2));
    assertEquals(new Tuple2<>(1, ""), table.key(3));
  }

  @Test
  void pairsOfFractionsAreRefused() {
    assertNotEquals(new Tuple2<>(Double.valueOf("NaN"), 1), new Tuple2<>(Double.valueOf("NaN"), 1));
    assertEquals(RowKeyTable.REFUSED, find(new Tuple2<>(Double.NaN, 1)));
    assertEquals(RowKeyTable.REFUSED, find(new Tuple2<>(1, 1.5f)));
    assertEquals(RowKeyTable.REFUSED, find(new scala.Tuple2$mcDD$sp(1, 2)));
  }

  @Test
  void specializedPairsStayWhatTheyAre() {
    assertEquals(~0, find(new scala.Tuple2$mcIJ$sp(1, 2L)));
    assertEquals(0, find(new scala.Tuple2$mcIJ$sp(1, 2L)));
    assertEquals(RowKeyTable.REFUSED, find(new Tuple2<>(1, 2L)));
    assertSameObject(new scala.Tuple2$mcIJ$sp(1, 2L), table.key(0));
  }

  private final RecordEncoder nested = RecordEncoder.ofAllClasses();

  private int findNested(RowKeyTable keys, Object key) {
    assertTrue(nested.encode(key, 1));
    return keys.find(nested.buffer(), Platform.BYTE_ARRAY_OFFSET, nested.length());
  }

  /** Of three levels, with few different parts, of which some are null. */
  @Provide
  Arbitrary<List<Object>> nestedKeys() {
    Arbitrary<Object> number = Arbitraries.integers().between(-1, 1).map(n -> (Object) n).injectNull(0.1);
    Arbitrary<Object> text = Arbitraries.of("", "a", "\u00e9", "\u0416", "\0").map(s -> (Object) s).injectNull(0.1);
    Arbitrary<Object> date =
        Arbitraries.of(LocalDate.EPOCH, LocalDate.MAX).map(d -> (Object) d).injectNull(0.1);
    Arbitrary<Object> inner = Combinators.combine(text, number, date).as(Tuple3::new);
    return Combinators.combine(number, inner).as((n, tuple) -> (Object) new Tuple2<>(n, tuple)).list().ofMaxSize(100);
  }

  @Property(tries = 300)
  void nestedKeysAreThoseOfAMap(@ForAll("nestedKeys") List<Object> keys) {
    RowKeyTable fresh = new RowKeyTable();
    Map<Object, Integer> model = new LinkedHashMap<>();
    for (Object key : keys) {
      Integer known = model.get(key);
      assertEquals(known == null ? ~model.size() : known.intValue(), findNested(fresh, key));
      model.putIfAbsent(key, model.size());
    }
    List<Object> distinct = new ArrayList<>(model.keySet());
    for (int i = 0; i < distinct.size(); i++) {
      assertSameObject(distinct.get(i), fresh.key(i));
    }
    assertArrayEquals(distinct.stream().mapToInt(Objects::hashCode).toArray(), fresh.hashCodes());
  }

  @Test
  void keysOfOneNestedClass() {
    for (List<Object> two : List.of(List.<Object>of(new Text("a"), new Text("\u0416")),
        List.<Object>of(new IntWritable(1), new IntWritable(2)), List.<Object>of(new UUID(1, 2), new UUID(1, 3)),
        List.<Object>of(new Timestamp(1), new Timestamp(2)), List.<Object>of(BigInteger.ONE, BigInteger.TWO),
        List.<Object>of(new BigDecimal("1.0"), new BigDecimal("1.00")),
        List.<Object>of(new Tuple3<>(1, 2, 3), new Tuple3<>(1, 2, 4)),
        List.<Object>of(new Tuple2<>(new Text("a"), 1), new Tuple2<>(new Text("b"), 1)))) {
      RowKeyTable keys = new RowKeyTable();
      assertEquals(~0, findNested(keys, two.get(0)), () -> "" + two);
      assertEquals(~1, findNested(keys, two.get(1)), () -> "" + two);
      assertEquals(0, findNested(keys, two.get(0)), () -> "" + two);
      assertSameObject(two.get(1), keys.key(1));
      assertEquals(RowKeyTable.REFUSED, findNested(keys, new LongWritable(3)));
    }
  }

  /** Of which equal ones have other bytes, or that equal objects of other classes. */
  @Test
  void nestedKeysThatAreNotEqualByTheirBytesAreRefused() {
    for (Object key : new Object[] {new DoubleWritable(1), new BigInt(BigInteger.ONE), new Some<>(1), new int[] {1},
      new scala.math.BigDecimal(BigDecimal.ONE), new Tuple3<>(1, 2.0, 3), new Tuple3<>(1, new byte[] {1}, 3),
      new Tuple2<>(1, new Tuple2<>(1, new BigInt(BigInteger.ONE))), new Tuple2<>(1.5, new Text("a")),
      new Tuple3<>(1, Option.empty(), 2)}) {
      assertEquals(RowKeyTable.REFUSED, findNested(new RowKeyTable(), key), () -> "" + key);
    }
  }

  @Test
  void nestedTuplesMustHaveTheTypesOfTheFirst() {
    RowKeyTable keys = new RowKeyTable();
    assertEquals(new Tuple3<>(1, "a", 2), new Tuple3<>(1L, "a", 2));
    assertEquals(~0, findNested(keys, new Tuple3<>(1, "a", 2)));
    assertEquals(RowKeyTable.REFUSED, findNested(keys, new Tuple3<>(1L, "a", 2)));
    assertEquals(RowKeyTable.REFUSED, findNested(keys, new Tuple3<>(1, "a", new Tuple2<>(1, 2))));
    assertEquals(RowKeyTable.REFUSED, findNested(keys, new Tuple2<>(1, new Tuple2<>("a", 2))));
    assertEquals(~1, findNested(keys, new Tuple3<>(null, "a", 2)));
    assertEquals(~2, findNested(keys, new Tuple3<>(null, null, null)));
    RowKeyTable nulls = new RowKeyTable();
    assertEquals(~0, findNested(nulls, new Tuple3<>(null, "a", 2)));
    assertEquals(~1, findNested(nulls, new Tuple3<>(1L, "a", 2)));
    assertEquals(RowKeyTable.REFUSED, findNested(nulls, new Tuple3<>(1, "a", 2)));
    assertEquals(RowKeyTable.REFUSED, findNested(nulls, new Tuple3<>(1.0, "a", 2)));
  }

  @Test
  void specializedPairsWithinKeysMustBeWhereTheFirstHasThem() {
    RowKeyTable keys = new RowKeyTable();
    Object specialized = new Tuple2<>("a", new scala.Tuple2$mcII$sp(1, 2));
    assertEquals(specialized, new Tuple2<>("a", new Tuple2<>(1, 2)));
    assertEquals(~0, findNested(keys, specialized));
    assertEquals(RowKeyTable.REFUSED, findNested(keys, new Tuple2<>("a", new Tuple2<>(1, 2))));
    assertEquals(0, findNested(keys, specialized));
    assertSameObject(specialized, keys.key(0));
  }

  @Test
  void byteArraysAreEqualToThemselvesOnly() {
    assertEquals(RowKeyTable.REFUSED, find(new byte[] {1, 2}));
    assertEquals(RowKeyTable.REFUSED, find(new Tuple2<>(new byte[] {1, 2}, 1)));
  }

  @Test
  void rowsOfSerializedRecordsAreRefused() {
    HeapBytes serialized = new HeapBytes(10);
    serialized.write(new byte[10], 0, 10);
    encoder.encodeSerialized(1, serialized, 0, 10, new HeapBytes(0));
    assertEquals(RowKeyTable.REFUSED, table.find(encoder.buffer(), Platform.BYTE_ARRAY_OFFSET, encoder.length()));
    assertEquals(0, table.size());
  }

  @Test
  void nothingIsHeldAfterClear() {
    ObjectKeyTable objects = new ObjectKeyTable();
    for (int i = 0; i < 10_000; i++) {
      find("key " + i);
      objects.find("key " + i);
    }
    for (DistinctKeys keys : List.of(table, objects)) {
      assertTrue(keys.heapBytes() > 100_000);
      keys.clear();
      assertTrue(keys.heapBytes() < 200, keys.getClass() + " " + keys.heapBytes());
      assertEquals(0, keys.objects().length);
      assertEquals(0, keys.size());
    }
  }

  @Test
  void longTextAndPairsOfText() {
    List<String> texts = IntStream.range(0, 40).mapToObj(n -> "x".repeat(n * 999)).toList();
    for (int i = 0; i < texts.size(); i++) {
      assertEquals(~(2 * i), find(texts.get(i)));
      assertEquals(~(2 * i + 1), find(new Tuple2<>(texts.get(i), texts.get(texts.size() - 1 - i))));
    }
    for (int i = 0; i < texts.size(); i++) {
      assertEquals(2 * i, find(texts.get(i)));
      assertEquals(texts.get(i), table.key(2 * i));
      assertEquals(new Tuple2<>(texts.get(i), texts.get(texts.size() - 1 - i)), table.key(2 * i + 1));
    }
  }

  /** As many small numbers as there are keys: each hash is used, and text whose parts swap places differs. */
  @Test
  void similarKeysAreToldApart() {
    int expected = 0;
    for (String left : List.of("", "a", "\0", "ab", "12345678", "123456781")) {
      for (String right : List.of("", "a", "\0", "\0\0", "b", "12345678")) {
        assertEquals(~expected++, find(new Tuple2<>(left, right)));
      }
    }
    for (String text : List.of("", "a", "\0", "\0\0", "\0\0\0\0\0\0\0\0", "\0\0\0\0\0\0\0\0\0")) {
      assertEquals(~expected++, find(text));
    }
    assertEquals(expected, table.size());
  }
}
