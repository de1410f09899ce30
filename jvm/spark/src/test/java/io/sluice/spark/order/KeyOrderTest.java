package io.sluice.spark.order;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.primitives.UnsignedBytes;
import io.sluice.spark.NormalizedKeyOrdering;
import io.sluice.spark.record.RecordEncoder;
import io.sluice.spark.record.RowKey;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.sql.Timestamp;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZoneOffset;
import java.time.chrono.ChronoLocalDateTime;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.apache.hadoop.io.BinaryComparable;
import org.apache.hadoop.io.BooleanWritable;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.DoubleWritable;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.ShortWritable;
import org.apache.hadoop.io.Text;
import org.apache.spark.SparkConf;
import org.apache.spark.serializer.JavaSerializer;
import org.apache.spark.unsafe.Platform;
import org.junit.jupiter.api.Test;
import scala.Function1;
import scala.Predef$;
import scala.Some;
import scala.Tuple2;
import scala.Tuple3;
import scala.Tuple4;
import scala.math.BigInt;
import scala.math.Ordering;
import scala.reflect.ClassTag;

import scala.math.Ordering$;
import scala.reflect.ClassTag$;

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
    RecordEncoder encoder = RecordEncoder.ofAllClasses();
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

  private static <K> void assertAgrees(PartOrder order, Comparator<K> ordering, K left, K right) {
    assertAgrees(new OrderByParts(row(left).structure(), List.of(new OrderByParts.Step(0, order))), ordering, left,
        right);
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
    PartOrder order = new PartOrder.SignedBytes();
    PartOrder reversed = new PartOrder.Reversed(order);
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
        assertAgrees(new PartOrder.SignedBytes(), Arrays::compare, Arrays.copyOf(least, i), Arrays.copyOf(least, j));
      }
    }
  }

  /** Only guessed, as the signed order of arrays. */
  @Property
  void unsignedOrderOfNumbers(@ForAll int left, @ForAll int right, @ForAll long leftLong, @ForAll long rightLong) {
    assertAgrees(new PartOrder.Numbers(Integer.SIZE, false), Integer::compareUnsigned, left, right);
    assertAgrees(new PartOrder.Reversed(new PartOrder.Numbers(Integer.SIZE, false)),
        (one, other) -> Integer.compareUnsigned(other, one), left, right);
    assertAgrees(new PartOrder.Numbers(Long.SIZE, false), Long::compareUnsigned, leftLong, rightLong);
    assertAgrees(new PartOrder.Numbers(Short.SIZE, false), Short::compareUnsigned, (short) left, (short) right);
    assertAgrees(new PartOrder.Numbers(Byte.SIZE, false), Byte::compareUnsigned, (byte) left, (byte) right);
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

  /** As {@link ReferenceSort} goes: prefix by prefix, as long as these are equal; then by comparing. */
  private static <K> void assertAgreesAtEachDepth(KeyOrder order, Comparator<K> ordering, K left, K right) {
    RowKey leftKey = row(left);
    RowKey rightKey = row(right);
    int expected = Integer.signum(ordering.compare(left, right));
    assertTrue(order.hasPrefix(leftKey) && order.hasPrefix(rightKey));
    assertEquals(expected, Integer.signum(order.compare(leftKey, rightKey)), () -> left + " and " + right);
    for (int depth = 0; depth < 32; depth++) {
      int answer = Integer.signum(Long.compareUnsigned(order.prefix(leftKey, depth), order.prefix(rightKey, depth)));
      int at = depth;
      if (answer != 0 || order.canSortFullyWithPrefix(depth)) {
        assertEquals(expected, answer, () -> left + " and " + right + " at depth " + at);
        return;
      }
      if (!order.hasNextPrefix(order.prefix(leftKey, depth), depth)) {
        return;
      }
    }
  }

  private static <K> void assertKnown(Comparator<K> ordering, K left, K right) {
    assertAgreesAtEachDepth(orderOf(ordering, left).orElseThrow(), ordering, left, right);
  }

  @SuppressWarnings({"unchecked", "rawtypes"}) // Scala's orderings of numbers are of their own boxed types.
  private static final Ordering<Integer> OF_INT = (Ordering) Ordering.Int$.MODULE$;
  @SuppressWarnings({"unchecked", "rawtypes"}) // As above.
  private static final Ordering<Boolean> OF_BOOLEAN = (Ordering) Ordering.Boolean$.MODULE$;
  private static final Ordering<String> OF_TEXT = Ordering.String$.MODULE$;

  @Property
  void tuplesOfManyParts(@ForAll int left, @ForAll int right, @ForAll String leftText, @ForAll String rightText,
      @ForAll boolean leftFlag, @ForAll boolean rightFlag, @ForAll @IntRange(max = 3) int same) {
    Ordering<Long> ofLong = scala(Comparator.<Long>naturalOrder());
    Ordering<Short> ofShort = scala(Comparator.<Short>reverseOrder());
    int left1 = same > 0 ? right : left;
    short left2 = (short) (same > 1 ? right : left);
    boolean left3 = same > 2 ? rightFlag : leftFlag;
    assertKnown(Ordering$.MODULE$.Tuple3(OF_INT, ofShort, OF_BOOLEAN.reverse()),
        new Tuple3<>(left1, left2, left3), new Tuple3<>(right, (short) right, rightFlag));
    assertKnown(Ordering$.MODULE$.Tuple4(OF_INT, ofShort, OF_TEXT, ofLong),
        new Tuple4<>(left1, left2, leftText, (long) left), new Tuple4<>(right, (short) right, rightText, (long) right));
    assertKnown(Ordering$.MODULE$.Tuple4(OF_BOOLEAN, OF_TEXT.reverse(), ofLong, OF_INT).reverse(),
        new Tuple4<>(left3, leftText, (long) left, left1), new Tuple4<>(rightFlag, rightText, (long) right, right));
    assertKnown(Ordering$.MODULE$.Tuple2(OF_INT, Ordering$.MODULE$.Tuple2(ofLong, OF_TEXT).reverse()),
        new Tuple2<>(left1, new Tuple2<>((long) left2, leftText)),
        new Tuple2<>(right, new Tuple2<>((long) right, rightText)));
    assertKnown(Ordering$.MODULE$.Tuple2(Ordering$.MODULE$.Tuple3(ofLong, ofLong, OF_INT), OF_INT),
        new Tuple2<>(new Tuple3<>((long) left1, (long) left2, left), left),
        new Tuple2<>(new Tuple3<>((long) right, (long) (short) right, right), right));
  }

  @Property
  void decimalsByTheirValues(@ForAll BigDecimal left, @ForAll BigDecimal right, @ForAll @IntRange(max = 30) int zeros,
      @ForAll BigInteger leftWhole, @ForAll BigInteger rightWhole) {
    Comparator<BigDecimal> natural = Comparator.naturalOrder();
    assertKnown(natural, left, right);
    assertKnown(scala(natural).reverse(), left, right);
    assertKnown(natural, left, left.setScale(left.scale() + zeros));
    assertKnown(natural, left, left.setScale(left.scale() + zeros).add(BigDecimal.ONE.movePointLeft(zeros + 300)));
    assertKnown(natural, left.movePointLeft(zeros), left.movePointLeft(zeros).negate());
    assertKnown(Comparator.<BigInteger>naturalOrder(), leftWhole, rightWhole);
    assertKnown(Ordering.BigInt$.MODULE$, new BigInt(leftWhole), new BigInt(rightWhole));
    assertKnown(Ordering.BigInt$.MODULE$.reverse(), new BigInt(leftWhole.pow(20)), new BigInt(rightWhole.pow(20)));
  }

  @Property
  void datesAndTimes(@ForAll long left, @ForAll long right, @ForAll @IntRange(max = 999_999_999) int leftNanos,
      @ForAll @IntRange(max = 999_999_999) int rightNanos) {
    assertKnown(Comparator.<LocalDate>naturalOrder(), LocalDate.ofEpochDay((int) left),
        LocalDate.ofEpochDay((int) right));
    assertKnown(Comparator.<Instant>naturalOrder(), Instant.ofEpochSecond((int) left, leftNanos),
        Instant.ofEpochSecond((int) right, rightNanos));
    assertKnown(Comparator.<Instant>reverseOrder(), Instant.ofEpochSecond(5, leftNanos),
        Instant.ofEpochSecond(5, rightNanos));
    assertKnown(Comparator.<java.util.Date>naturalOrder(), new java.sql.Date(left >> 12),
        new java.sql.Date(right >> 12));
    assertKnown(Comparator.<java.util.Date>naturalOrder(), timestamp(left >> 12, leftNanos),
        timestamp(right >> 12, rightNanos));
    assertKnown(Comparator.<java.util.Date>naturalOrder(), timestamp(7, leftNanos), timestamp(7, rightNanos));
  }

  @Property
  void identifiersAndTimesOfTwoNumbers(@ForAll long left, @ForAll long right, @ForAll long leftLow,
      @ForAll long rightLow, @ForAll @IntRange(max = 999_999_999) int leftNanos,
      @ForAll @IntRange(max = 999_999_999) int rightNanos) {
    assertKnown(Comparator.<UUID>naturalOrder(), new UUID(left, leftLow), new UUID(right, rightLow));
    assertKnown(Comparator.<UUID>reverseOrder(), new UUID(left, leftLow), new UUID(left, rightLow));
    assertKnown(Comparator.<Duration>naturalOrder(), Duration.ofSeconds(left >> 3, leftNanos),
        Duration.ofSeconds(right >> 3, rightNanos));
    assertKnown(Comparator.<LocalTime>naturalOrder(), LocalTime.ofNanoOfDay(leftNanos),
        LocalTime.ofNanoOfDay(rightNanos));
    LocalDateTime leftTime = LocalDateTime.ofEpochSecond((int) left, leftNanos, ZoneOffset.UTC);
    assertKnown(Comparator.<ChronoLocalDateTime<?>>naturalOrder(), leftTime,
        LocalDateTime.ofEpochSecond((int) right, rightNanos, ZoneOffset.UTC));
    assertKnown(Comparator.<ChronoLocalDateTime<?>>naturalOrder(), leftTime, leftTime.plusNanos(1));
    assertKnown(Comparator.<ShortWritable>naturalOrder(), new ShortWritable((short) left),
        new ShortWritable((short) right));
    assertKnown(Ordering.BigDecimal$.MODULE$, new scala.math.BigDecimal(BigDecimal.valueOf(left, 3)),
        new scala.math.BigDecimal(BigDecimal.valueOf(right, 2)));
  }

  private static Timestamp timestamp(long millis, int nanos) {
    Timestamp timestamp = new Timestamp(millis);
    timestamp.setNanos(nanos);
    return timestamp;
  }

  @Property
  void writables(@ForAll int left, @ForAll int right, @ForAll byte[] leftBytes, @ForAll byte[] rightBytes) {
    Comparator<BinaryComparable> natural = Comparator.naturalOrder();
    assertKnown(natural, new BytesWritable(leftBytes), new BytesWritable(rightBytes));
    Text leftText = new Text();
    leftText.set(leftBytes);
    Text rightText = new Text();
    rightText.set(rightBytes);
    assertKnown(natural, leftText, rightText);
    assertKnown(natural.reversed(), leftText, rightText);
    assertKnown(Comparator.<IntWritable>naturalOrder(), new IntWritable(left), new IntWritable(right));
    assertKnown(Comparator.<LongWritable>naturalOrder(), new LongWritable(left), new LongWritable(right));
    assertKnown(Comparator.<BooleanWritable>naturalOrder(), new BooleanWritable(left > 0),
        new BooleanWritable(right > 0));
    assertEquals(Optional.empty(), orderOf(Comparator.<DoubleWritable>naturalOrder(), new DoubleWritable(1)));
  }

  /** As the compiler makes it for {@code sortByKey} of what is comparable, on the driver and after it was sent. */
  @Test
  void scalasOrderingOfComparableThings() throws ReflectiveOperationException {
    Object identity = Predef$.class.getMethod("$conforms").invoke(Predef$.MODULE$);
    @SuppressWarnings("unchecked") // It gives back what it is given.
    Ordering<Text> natural = Ordering$.MODULE$.ordered((Function1<Text, Comparable<? super Text>>) identity);
    JavaSerializer serializer = new JavaSerializer(new SparkConf(false));
    ClassTag<Object> any = ClassTag$.MODULE$.Any();
    @SuppressWarnings("unchecked") // The class is that of what was written.
    Ordering<Text> sent = (Ordering<Text>) serializer.newInstance()
        .deserialize(serializer.newInstance().serialize(natural, any), any);
    assertKnown(natural, new Text("a"), new Text("b"));
    assertKnown(sent, new Text("a"), new Text("b"));
    assertKnown(sent.reverse(), new Text("a"), new Text("b"));
    assertKnown(Ordering$.MODULE$.Tuple2(OF_INT, sent), new Tuple2<>(1, new Text("a")),
        new Tuple2<>(1, new Text("b")));
    Function1<Text, Comparable<? super Text>> other = text -> new Text("b");
    assertEquals(Optional.empty(), orderOf(Ordering$.MODULE$.ordered(other), new Text("a")));
    assertEquals(Optional.empty(), orderOf(natural, new byte[] {1}));
  }

  @Test
  void tuplesHaveNoKnownOrderIfOneOfTheirPartsHasNone() {
    Function1<Integer, Object> negative = n -> -n;
    Ordering<Integer> by = Ordering$.MODULE$.by(negative, (Ordering) Ordering.Int$.MODULE$);
    assertEquals(Optional.empty(), orderOf(Ordering$.MODULE$.Tuple2(OF_INT, by), new Tuple2<>(1, 2)));
    assertEquals(Optional.empty(), orderOf(Ordering$.MODULE$.Tuple3(OF_INT, OF_INT, Ordering$.MODULE$.Tuple2(OF_INT, by)),
        new Tuple3<>(1, 2, new Tuple2<>(3, 4))));
    assertEquals(Optional.empty(), orderOf(Ordering$.MODULE$.Tuple2(OF_INT, OF_INT), new Tuple2<>(1, new Some<>(2))));
    KeyOrder order = orderOf(Ordering$.MODULE$.Tuple2(OF_INT, OF_INT), new Tuple2<>(1, 2)).orElseThrow();
    assertTrue(order.hasPrefix(row(new scala.Tuple2$mcII$sp(3, 4))));
    assertFalse(order.hasPrefix(row(new Tuple2<>(1, 2L))));
    assertFalse(order.hasPrefix(row(new Tuple2<>(1, null))));
    assertFalse(order.hasPrefix(row(new Tuple3<>(1, 2, 3))));
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
    assertEquals(Optional.empty(), orderOf(Ordering.String$.MODULE$, null));
    assertFalse(orderOf(Ordering.String$.MODULE$, "text").orElseThrow().canSortFullyWithPrefix(0));
    assertTrue(orderOf(scala(Comparator.<Integer>naturalOrder()), 5).orElseThrow().canSortFullyWithPrefix(0));
  }
}
