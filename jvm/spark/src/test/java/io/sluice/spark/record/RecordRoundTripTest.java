package io.sluice.spark.record;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.SluiceException;
import java.math.BigDecimal;
import java.util.List;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;
import org.junit.jupiter.api.Test;
import scala.Tuple2;
import scala.Tuple3;
import scala.runtime.BoxedUnit;

/** A record that has a shape comes back equal, and of the same classes. */
class RecordRoundTripTest {
  private static final RecordEncoder ENCODER = new RecordEncoder();
  private static final RecordDecoder DECODER = new RecordDecoder();

  private static UnsafeRow row() {
    UnsafeRow row = new UnsafeRow(ENCODER.fields());
    row.pointTo(ENCODER.buffer().clone(), Platform.BYTE_ARRAY_OFFSET, ENCODER.length());
    return row;
  }

  private static Tuple2<Object, Object> roundTrip(Object key, Object value) {
    assertTrue(ENCODER.encode(key, value));
    assertEquals(0, ENCODER.length() % 8);
    UnsafeRow row = row();
    assertFalse(DECODER.isSerialized(row));
    return DECODER.decode(row);
  }

  private static void assertSameValue(Object expected, Object actual) {
    if (expected == null) {
      assertSame(null, actual);
      return;
    }
    assertSame(expected.getClass(), actual.getClass());
    if (expected instanceof byte[] bytes) {
      assertArrayEquals(bytes, (byte[]) actual);
    } else if (expected instanceof Tuple2<?, ?> pair) {
      assertSameValue(pair._1(), ((Tuple2<?, ?>) actual)._1());
      assertSameValue(pair._2(), ((Tuple2<?, ?>) actual)._2());
    } else {
      assertEquals(expected, actual);
    }
  }

  @Provide
  Arbitrary<Object> parts() {
    return Arbitraries.oneOf(
        Arbitraries.just((Object) BoxedUnit.UNIT),
        Arbitraries.bytes().array(byte[].class).ofMaxSize(2000).map(bytes -> bytes),
        Arbitraries.strings().all().ofMaxLength(300).map(text -> text),
        Arbitraries.strings().ascii().ofMaxLength(300).map(text -> text),
        Arbitraries.strings().withChars('\uD800', '\uDFFF', 'a', '\u00FF', '\u0100').ofMaxLength(20).map(text -> text),
        Arbitraries.of(true, false), Arbitraries.bytes(), Arbitraries.shorts(), Arbitraries.chars(),
        Arbitraries.integers(), Arbitraries.longs(), Arbitraries.floats(), Arbitraries.doubles()).injectNull(0.1);
  }

  @Provide
  Arbitrary<Object> sides() {
    Arbitrary<Object> pairs = Combinators.combine(parts(), parts()).as(Tuple2::new);
    Arbitrary<Object> specialized = Arbitraries.oneOf(
        Arbitraries.longs().map(n -> new scala.Tuple2$mcII$sp(n.intValue(), (int) (n >> 32))),
        Arbitraries.longs().map(n -> new scala.Tuple2$mcJD$sp(n, n / 3.0)),
        Arbitraries.longs().map(n -> new scala.Tuple2$mcDJ$sp(n / 3.0, n)),
        Arbitraries.longs().map(n -> new scala.Tuple2$mcIJ$sp(n.intValue(), n)));
    return Arbitraries.frequencyOf(net.jqwik.api.Tuple.of(4, parts()), net.jqwik.api.Tuple.of(2, pairs),
        net.jqwik.api.Tuple.of(1, specialized));
  }

  @Property
  void randomRecordsRoundTrip(@ForAll("sides") Object key, @ForAll("sides") Object value) {
    Tuple2<Object, Object> back = roundTrip(key, value);
    assertSameValue(key, back._1());
    assertSameValue(value, back._2());
  }

  @Test
  void extremeValuesRoundTrip() {
    for (Object part : new Object[] {Float.NaN, -0.0f, Double.MIN_VALUE, -0.0, Long.MIN_VALUE, "", new byte[0],
      '\uFFFF',
      Float.intBitsToFloat(0x7FC00001), "x".repeat(1 << 20), new byte[3 << 20]}) {
      assertSameValue(part, roundTrip(part, null)._1());
      assertSameValue(part, roundTrip(BoxedUnit.UNIT, part)._2());
    }
    assertEquals(0x7FC00001, Float.floatToRawIntBits((Float) roundTrip(Float.intBitsToFloat(0x7FC00001), 1)._1()));
  }

  @Test
  void otherClassesAreSerialized() {
    for (Object other : List.of(BigDecimal.ONE, new int[1], new Tuple3<>(1, 2, 3), List.of(1),
        new Tuple2<>(1, new int[1]),
        new Tuple2<>(new Tuple2<>(1, 2), 3), new StringBuilder("text"))) {
      assertFalse(ENCODER.encode(other, 1), () -> other.getClass().toString());
      assertFalse(ENCODER.encode(1, other), () -> other.getClass().toString());
    }
  }

  @Test
  void valuesTooLargeForARowAreSerialized() {
    assertTrue(ENCODER.encode(1, new byte[RecordEncoder.MAX_ROW_BYTES - 1024]));
    assertFalse(ENCODER.encode(1, new byte[RecordEncoder.MAX_ROW_BYTES]));
    assertFalse(ENCODER.encode("x".repeat(RecordEncoder.MAX_ROW_BYTES + 1), 1));
  }

  @Test
  void paddingBytesAreZero() {
    assertTrue(ENCODER.encode(new byte[] {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1}, 7));
    assertTrue(ENCODER.encode(new byte[] {1}, 7));
    assertEquals(1, Platform.getLong(ENCODER.buffer(), Platform.BYTE_ARRAY_OFFSET + 32));
  }

  @Test
  void serializedRecordsRoundTrip() {
    HeapBytes body = new HeapBytes(1);
    body.write(new byte[] {4, 5, 6, 7, 99}, 0, 5);
    HeapBytes tail = new HeapBytes(1);
    for (byte next = 1; next < 20; next++) {
      ENCODER.encodeSerialized(3, body, 1, 3, tail);
      UnsafeRow row = row();
      assertTrue(DECODER.isSerialized(row));
      assertEquals(3, DECODER.serializedRecords(row));
      byte[] expected = new byte[3 + tail.size()];
      System.arraycopy(new byte[] {5, 6, 7}, 0, expected, 0, 3);
      System.arraycopy(tail.array(), 0, expected, 3, tail.size());
      assertArrayEquals(expected, DECODER.serializedBytes(row));
      tail.write(next);
    }
  }

  @Test
  void aShapeOfAnotherVersionIsAnError() {
    assertTrue(ENCODER.encode(1, 2));
    UnsafeRow row = row();
    row.setLong(0, 0x7F);
    assertTrue(assertThrows(SluiceException.class, () -> DECODER.decode(row)).getMessage().contains("0x7f"));
  }
}
