package io.sluice.spark.order;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.primitives.UnsignedBytes;
import io.sluice.spark.NormalizedKeyOrdering;
import io.sluice.spark.record.RecordEncoder;
import io.sluice.spark.record.RowKey.Kind;
import io.sluice.spark.record.RowKey;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.apache.spark.unsafe.Platform;
import org.junit.jupiter.api.Test;
import scala.Function1;
import scala.Tuple2;
import scala.math.Ordering;

import scala.math.Ordering$;

/** The order of the numbers is never the opposite of the comparator's order. */
class KeyOrderTest {
  /** Orders text by length; its number is half of the length. */
  private static final class ByLength implements Comparator<String>, NormalizedKeyOrdering<String> {
    @Override
    public int compare(String left, String right) {
      return Integer.compare(left.length(), right.length());
    }

    @Override
    public long prefix(String key) {
      return key.length() / 2;
    }

    @Override
    public boolean canSortFullyWithPrefix() {
      return false;
    }
  }

  private static <K> Ordering<K> scala(Comparator<K> comparator) {
    return Ordering$.MODULE$.comparatorToOrdering(comparator);
  }

  /** The key of a row that was made of {@code key}, in memory where other bytes follow. */
  private static RowKey row(Object key) {
    RecordEncoder encoder = new RecordEncoder();
    assertTrue(encoder.encode(key, null));
    byte[] row = Arrays.copyOf(encoder.buffer(), encoder.length() + Long.BYTES);
    Arrays.fill(row, encoder.length(), row.length, (byte) 0x5A);
    RowKey rowKey = new RowKey();
    rowKey.pointTo(row, Platform.BYTE_ARRAY_OFFSET, encoder.length());
    return rowKey;
  }

  private static Optional<KeyOrder> orderOf(Comparator<?> ordering, Object sample) {
    return KeyOrders.of(ordering, row(sample));
  }

  private static <K> void assertAgrees(Comparator<K> ordering, K left, K right) {
    assertAgrees(orderOf(ordering, left).orElseThrow(), ordering, left, right);
  }

  private static <K> void assertAgrees(KeyOrder order, Comparator<K> ordering, K left, K right) {
    RowKey leftKey = row(left);
    RowKey rightKey = row(right);
    int byNumber = Integer.signum(Long.compareUnsigned(order.prefix(leftKey, 0), order.prefix(rightKey, 0)));
    int byComparator = Integer.signum(ordering.compare(left, right));
    assertTrue(byNumber == byComparator || byNumber == 0 && !order.canSortFullyWithPrefix(0),
        () -> left + " and " + right);
    assertEquals(byComparator, Integer.signum(order.compare(leftKey, rightKey)), () -> left + " and " + right);
  }

  @Property
  @SuppressWarnings({"unchecked", "rawtypes"}) // Scala's orderings of numbers are of their own boxed types.
  void naturalOrderOfNumbers(@ForAll int left, @ForAll int right, @ForAll long leftLong, @ForAll long rightLong) {
    assertAgrees((Ordering) Ordering.Int$.MODULE$, left, right);
    assertAgrees(((Ordering) Ordering.Int$.MODULE$).reverse(), left, right);
    assertAgrees((Ordering) Ordering.Long$.MODULE$, leftLong, rightLong);
    assertAgrees(scala(Comparator.<Long>naturalOrder()), leftLong, rightLong);
    assertAgrees(scala(com.google.common.collect.Ordering.<Integer>natural()), left, right);
    assertAgrees(scala(com.google.common.collect.Ordering.<Short>natural()).reverse(), (short) left, (short) right);
    assertAgrees(scala(Comparator.<Byte>naturalOrder().reversed().reversed()), (byte) left, (byte) right);
    assertAgrees(scala(Comparator.<Integer>reverseOrder()), left, right);
    assertAgrees(scala(Comparator.<Long>reverseOrder()).reverse(), leftLong, rightLong);
    assertAgrees(scala(Comparator.<Character>naturalOrder()), (char) left, (char) right);
  }

  @Property
  void naturalOrderOfStrings(@ForAll String left, @ForAll String right, @ForAll String shared) {
    Comparator<String> natural = Ordering.String$.MODULE$;
    assertAgrees(natural, left, right);
    assertAgrees(natural, shared + left, shared + right);
    assertAgrees(Ordering.String$.MODULE$.reverse(), left, right);
    String latin1 = left.replaceAll("[^\\u0000-\\u00FF]", "\u00FF");
    assertAgrees(natural, latin1, right);
    assertAgrees(natural, shared + latin1, shared + right);
    assertAgrees(Ordering.String$.MODULE$.reverse(), latin1, latin1 + right);
    assertAgrees(scala(new ByLength()), left, right);
    assertAgrees(scala(new ByLength()).reverse(), left, right);
  }

  @Property
  void unsignedOrderOfByteArrays(@ForAll byte[] left, @ForAll byte[] right, @ForAll byte[] shared) {
    Ordering<byte[]> ordering = scala(UnsignedBytes.lexicographicalComparator());
    assertAgrees(ordering, left, right);
    assertAgrees(ordering, com.google.common.primitives.Bytes.concat(shared, left),
        com.google.common.primitives.Bytes.concat(shared, right));
  }

  /** Only guessed: no comparator is known to have it. */
  @Property
  void signedOrderOfByteArrays(@ForAll byte[] left, @ForAll byte[] right, @ForAll byte[] shared) {
    KeyOrder order = new KeyOrder.SignedBytes();
    KeyOrder reversed = new KeyOrder.Reversed(order);
    byte[] longLeft = com.google.common.primitives.Bytes.concat(shared, left);
    byte[] longRight = com.google.common.primitives.Bytes.concat(shared, right);
    assertAgrees(order, Arrays::compare, left, right);
    assertAgrees(order, Arrays::compare, longLeft, longRight);
    assertAgrees(order, Arrays::compare, shared, longRight);
    assertAgrees(reversed, (one, other) -> Arrays.compare(other, one), longLeft, longRight);
  }

  @Test
  void signedOrderOfByteArraysOfTheLeastByte() {
    byte[] least = new byte[10];
    Arrays.fill(least, Byte.MIN_VALUE);
    for (int i = 0; i <= least.length; i++) {
      for (int j = 0; j <= least.length; j++) {
        assertAgrees(new KeyOrder.SignedBytes(), Arrays::compare, Arrays.copyOf(least, i), Arrays.copyOf(least, j));
      }
    }
  }

  /** Only guessed, as the signed order of arrays. */
  @Property
  void unsignedOrderOfNumbers(@ForAll int left, @ForAll int right, @ForAll long leftLong, @ForAll long rightLong) {
    assertAgrees(new KeyOrder.UnsignedNumbers(Kind.INTEGER), Integer::compareUnsigned, left, right);
    assertAgrees(new KeyOrder.Reversed(new KeyOrder.UnsignedNumbers(Kind.INTEGER)),
        (one, other) -> Integer.compareUnsigned(other, one), left, right);
    assertAgrees(new KeyOrder.UnsignedNumbers(Kind.LONG), Long::compareUnsigned, leftLong, rightLong);
    assertAgrees(new KeyOrder.UnsignedNumbers(Kind.SHORT), Short::compareUnsigned, (short) left, (short) right);
    assertAgrees(new KeyOrder.UnsignedNumbers(Kind.BYTE), Byte::compareUnsigned, (byte) left, (byte) right);
  }

  @Test
  @SuppressWarnings({"unchecked", "rawtypes"}) // Scala's orderings of numbers are of their own boxed types.
  void anOrderingByAFunctionOfTheKeyHasNoPrefix() {
    Ordering<Object> ofInt = (Ordering) Ordering.Int$.MODULE$;
    Function1<Object, Object> negative = n -> -(Integer) n;
    Function1<Object, Object> length = text -> ((String) text).length();
    Ordering<Object> by = Ordering$.MODULE$.by(negative, ofInt);
    for (Ordering<Object> ordering : List.of(by, by.reverse(), scala(by), ofInt.on(negative),
        ofInt.reverse().on(negative))) {
      assertEquals(Optional.empty(), orderOf(ordering, 5));
    }
    assertEquals(Optional.empty(), orderOf(Ordering$.MODULE$.by(length, ofInt), "text"));
    assertEquals(Optional.empty(), orderOf(Ordering$.MODULE$.Option(ofInt), 5));
    assertEquals(Optional.empty(), orderOf(Ordering$.MODULE$.fromLessThan((a, b) -> (Integer) a > (Integer) b), 5));
  }

  /** Where text with and without wide characters meets: the largest unit that has a byte, and empty and short keys. */
  @Test
  void stringsWithCharactersAroundThePrefixByteLimit() {
    List<String> texts =
        List.of("", "\u0000", "\u00FE", "\u00FE\u00FF", "\u00FF", "\u00FF\u0000", "\u00FFa", "\u00FF\u0100", "\u0100",
            "\u0100a", "\uD800", "a\u00FFb", "a\u0100", "abcdefgh", "abcdefgh\u0000", "abcdefghi", "abcdefg\u0100",
            "abcdefg\u00FFz");
    for (String left : texts) {
      for (String right : texts) {
        assertAgrees(Ordering.String$.MODULE$, left, right);
      }
    }
  }

  @Test
  void keysOfOtherClassesHaveNoPrefix() {
    KeyOrder order = orderOf(scala(Comparator.<Integer>naturalOrder()), 5).orElseThrow();
    assertTrue(order.hasPrefix(row(7)));
    assertFalse(order.hasPrefix(row(7L)));
    assertFalse(order.hasPrefix(row(null)));
    assertFalse(order.hasPrefix(row(new Tuple2<>(7, 7))));
    assertFalse(orderOf(scala(new ByLength()), "text").orElseThrow().hasPrefix(row(null)));
  }

  @Test
  void unknownOrderingsHaveNoPrefix() {
    for (Comparator<?> ordering : List.of(Comparator.comparing(String::length),
        scala(Comparator.comparing(String::length)),
        String.CASE_INSENSITIVE_ORDER, Comparator.<String>naturalOrder().thenComparing(Comparator.reverseOrder()))) {
      assertEquals(Optional.empty(), orderOf(ordering, "text"));
    }
    assertEquals(Optional.empty(), orderOf(scala(Comparator.<Boolean>naturalOrder()), true));
    assertEquals(Optional.empty(), orderOf(Ordering.String$.MODULE$, null));
    assertFalse(orderOf(Ordering.String$.MODULE$, "text").orElseThrow().canSortFullyWithPrefix(0));
    assertTrue(orderOf(scala(Comparator.<Integer>naturalOrder()), 5).orElseThrow().canSortFullyWithPrefix(0));
  }
}
