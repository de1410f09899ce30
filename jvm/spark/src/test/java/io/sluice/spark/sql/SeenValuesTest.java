package io.sluice.spark.sql;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.IntFunction;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Numbers of rows of which something is known: they tell more rows apart, and order them as comparing does. */
class SeenValuesTest {
  private static final RowOrder.Part FIRST = new RowOrder.Part(0, 0, true);
  private static final int ROWS = 200;

  private static ColumnOrder order(boolean descending) {
    return new ColumnOrder(List.of(
        SortColumn.of(DataTypes.IntegerType, 0, false, false, true).orElseThrow(),
        SortColumn.of(DataTypes.StringType, 1, true, descending, true).orElseThrow(),
        SortColumn.of(DataTypes.IntegerType, 2, false, descending, true).orElseThrow()), 3);
  }

  private static UnsafeRow row(int first, String text, int last) {
    UnsafeRowWriter writer = new UnsafeRowWriter(3);
    writer.resetRowWriter();
    writer.write(0, first);
    if (text == null) {
      writer.setNullAt(1);
    } else {
      writer.write(1, UTF8String.fromString(text));
    }
    writer.write(2, last);
    return writer.getRow().copy();
  }

  private static SeenValues seen(RowOrder order, List<UnsafeRow> rows) {
    SeenValues seen = order.seenValues().orElseThrow();
    rows.forEach(row -> seen.add(row.getBaseObject(), row.getBaseOffset()));
    return seen;
  }

  private static long number(RowOrder order, UnsafeRow row) {
    return order.number(FIRST, row.getBaseObject(), row.getBaseOffset(), row.getSizeInBytes());
  }

  private static int compare(RowOrder order, UnsafeRow left, UnsafeRow right) {
    return order.compare(left.getBaseObject(), left.getBaseOffset(), left.getSizeInBytes(), right.getBaseObject(),
        right.getBaseOffset(), right.getSizeInBytes(), 0);
  }

  private static long distinctNumbers(RowOrder order, List<UnsafeRow> rows) {
    return rows.stream().map(row -> number(order, row)).distinct().count();
  }

  private static Arguments texts(String name, IntFunction<String> text) {
    return Arguments.of(name, text);
  }

  static Stream<Arguments> texts() {
    return Stream.of(texts("one prefix", i -> "customer-" + i % 13),
        texts("a prefix of sixteen bytes", i -> "customers/name_/" + i % 13),
        texts("a longer prefix", i -> "customers/of/Sluice/" + i % 13),
        texts("empty and short", i -> "abc".substring(i % 4)), texts("one value", i -> "Vienna"),
        texts("one empty value", i -> ""), texts("nulls", i -> i % 3 == 0 ? null : "k" + i % 4),
        texts("nulls only", i -> null), texts("long ones", i -> "x".repeat(i % 40)),
        texts("zeros at the end", i -> "ab" + "\0".repeat(i % 5)), texts("zeros", i -> "\0".repeat(i % 20)),
        texts("zeros and others", i -> "ab\0\0c\0".substring(0, i % 7)),
        texts("nothing in common", i -> Integer.toHexString(i * 0x9E3779B9)));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("texts")
  void numbersOrderRowsAsComparingDoes(String name, IntFunction<String> text) {
    for (boolean descending : new boolean[] {false, true}) {
      ColumnOrder order = order(descending);
      Random random = new Random(3);
      List<UnsafeRow> rows = new ArrayList<>();
      for (int i = 0; i < ROWS; i++) {
        rows.add(row(random.nextInt(3) - 1, text.apply(random.nextInt(1_000)), random.nextInt(4) - 2));
      }
      RowOrder known = seen(order, rows).order().orElse(order);
      for (UnsafeRow left : rows) {
        for (UnsafeRow right : rows) {
          int expected = compare(order, left, right);
          assertEquals(Integer.signum(expected), Integer.signum(compare(known, left, right)));
          int compared = Long.compareUnsigned(number(known, left), number(known, right));
          if (compared != 0) {
            assertEquals(Integer.signum(expected), compared);
          } else if (known.isEnd(known.undecided(FIRST, number(known, left)))) {
            assertEquals(0, expected);
          }
        }
      }
    }
  }

  @Test
  void columnsBehindShortValuesAreInTheNumber() {
    List<UnsafeRow> rows = new ArrayList<>();
    for (int i = 0; i < ROWS; i++) {
      rows.add(row(7, "item-" + i / 10 % 10, i % 10));
    }
    assertEquals(10, distinctNumbers(order(false), rows));
    assertEquals(100, distinctNumbers(seen(order(false), rows).order().orElseThrow(), rows));
  }

  @Test
  void whatTellsNothingChangesNothing() {
    SeenValues seen = seen(order(false), List.of(row(1, "Linz", 1), row(1, "a very long name", 1)));
    assertFalse(seen.order().isPresent());
  }

  @Test
  void numbersBeforeTakeAllBits() {
    ColumnOrder order = new ColumnOrder(List.of(
        SortColumn.of(DataTypes.DoubleType, 0, false, false, true).orElseThrow(),
        SortColumn.of(DataTypes.StringType, 1, true, false, true).orElseThrow()), 2);
    assertFalse(order.seenValues().isPresent());
    ColumnOrder one = new ColumnOrder(
        List.of(SortColumn.of(DataTypes.StringType, 0, true, false, true).orElseThrow()), 1);
    assertFalse(one.seenValues().isPresent());
    assertTrue(order(true).seenValues().isPresent());
  }
}
