package io.sluice.spark.record;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.stream.IntStream;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import org.apache.spark.unsafe.Platform;
import org.junit.jupiter.api.Test;
import scala.Tuple2;
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
