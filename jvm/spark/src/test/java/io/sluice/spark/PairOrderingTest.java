package io.sluice.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.sluice.spark.metrics.Counter;
import java.io.Serializable;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.apache.spark.HashPartitioner;
import org.apache.spark.api.java.JavaPairRDD;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import scala.Tuple2;
import scala.math.Ordering;

import scala.math.Ordering$;

/** Keys that are pairs, and keys that are fractions: sorted as rows, in stock's order. */
@Timeout(180)
class PairOrderingTest {
  private static final int ROWS = 3_000;
  private static RddOnBothEngines spark;

  /** One part of a pair, made of a number that is mixed. */
  private enum Part {
    /** Few, so that the second part decides often. */
    FEW_INTS(n -> (n >>> 3) % 7 - 3), INTS(n -> n), LONGS(n -> (long) n * 0x1_0000_0001L), SHORTS(Integer::shortValue),
    DOUBLES(Part::fraction), FLOATS(n -> (float) fraction(n)), TEXT(n -> "text " + (n >>> 8) % 300),
    LONG_TEXT(n -> "a text that is longer than eight bytes ".repeat(1 + (n >>> 5) % 3) + (n >>> 9) % 50),
    WIDE_TEXT(n -> "\u0416" + (n >>> 8) % 300), EMPTY_OR_NOT(n -> (n & 1) == 0 ? "" : "\u0000".repeat((n >>> 1) % 5));

    private final Function<Integer, Comparable<?>> of;

    Part(Function<Integer, Comparable<?>> of) {
      this.of = of;
    }

    private static double fraction(int n) {
      return switch (n >>> 28 & 7) {
        case 0 -> Double.NaN;
        case 1 -> -0.0;
        case 2 -> 0.0;
        case 3 -> Double.NEGATIVE_INFINITY;
        case 4 -> n / 16;
        default -> Double.longBitsToDouble((long) n * 0x9E37_79B9_7F4A_7C15L);
      };
    }
  }

  /** Compares the parts in their natural order or against it, or not at all; no class of it is known to Sluice. */
  private record ByParts(int first, int second)
      implements
        Comparator<Tuple2<Comparable<?>, Comparable<?>>>,
        Serializable {
    @Override
    public int compare(Tuple2<Comparable<?>, Comparable<?>> left, Tuple2<Comparable<?>, Comparable<?>> right) {
      int order = first * natural(left._1(), right._1());
      return order != 0 ? order : second * natural(left._2(), right._2());
    }

    @SuppressWarnings("unchecked") // Both are of one class.
    private static int natural(Comparable<?> left, Comparable<?> right) {
      return Integer.signum(((Comparable<Object>) left).compareTo(right));
    }
  }

  @BeforeAll
  static void start() {
    spark = RddOnBothEngines.start(Map.of());
  }

  @AfterAll
  static void stop() {
    spark.close();
  }

  private static int mixed(int n) {
    return n * 0x9E3779B1;
  }

  /** One map task, so that stock gives equal keys an order: the one in which they come. */
  private static JavaPairRDD<Tuple2<Comparable<?>, Comparable<?>>, Integer> pairs(Part first, Part second) {
    return spark.numbers(ROWS).coalesce(1)
        .mapToPair(n -> new Tuple2<>(new Tuple2<>(first.of.apply(mixed(n)), second.of.apply(mixed(n + 77))), n));
  }

  private static <K, V> void assertSortedAsRows(Ordering<K> ordering, JavaPairRDD<K, V> records) {
    long before = spark.counter(Counter.READ_PARTITIONS_SORTED_AS_ROWS);
    spark.assertSame(context -> RddOnBothEngines.inOrder(
        RddOnBothEngines.shuffled(records, new HashPartitioner(2)).setKeyOrdering(ordering)));
    assertEquals(2, spark.counter(Counter.READ_PARTITIONS_SORTED_AS_ROWS) - before,
        () -> "partitions sorted as rows, of " + records.first());
  }

  @Test
  void pairsOfAllPartsInTheirNaturalOrder() {
    for (Part first : Part.values()) {
      Part second = Part.values()[(first.ordinal() * 3 + 1) % Part.values().length];
      long proven = spark.counter(Counter.READ_RUNS_PROVEN);
      assertSortedAsRows(natural(), pairs(first, second));
      assertEquals(proven, spark.counter(Counter.READ_RUNS_PROVEN), "an order that is known needs no proof");
    }
  }

  @SuppressWarnings({"unchecked", "rawtypes"}) // Ordering of comparable things of one class.
  private static Ordering<Tuple2<Comparable<?>, Comparable<?>>> natural() {
    Ordering<Comparable<?>> part = (Ordering) Ordering$.MODULE$.comparatorToOrdering((Comparator) Comparator
        .naturalOrder());
    return Ordering$.MODULE$.Tuple2(part, part);
  }

  @VariantsInAll
  @ParameterizedTest
  @ValueSource(ints = {-1, 0, 1})
  void ordersOfTheUsersOwnAreGuessedAndProven(int ofSecond) {
    for (int ofFirst : new int[] {-1, 1}) {
      for (Part first : new Part[] {Part.FEW_INTS, Part.LONGS, Part.TEXT, Part.DOUBLES, Part.LONG_TEXT}) {
        long proven = spark.counter(Counter.READ_RUNS_PROVEN);
        assertSortedAsRows(Ordering$.MODULE$.comparatorToOrdering(new ByParts(ofFirst, ofSecond)),
            pairs(first, Part.values()[(first.ordinal() + ofFirst + 3) % Part.values().length]));
        assertEquals(2, spark.counter(Counter.READ_RUNS_PROVEN) - proven);
      }
    }
  }

  /** Numbers for texts, which Sluice must not ask for with pairs. */
  private static final class ByLength implements Comparator<String>, NormalizedKeyOrdering<String>, Serializable {
    private static final long serialVersionUID = 1L;

    @Override
    public int compare(String left, String right) {
      return Integer.compare(left.length(), right.length());
    }

    @Override
    public long prefix(String key) {
      return key.length();
    }

    @Override
    public boolean canSortFullyWithPrefix() {
      return true;
    }
  }

  @Test
  @SuppressWarnings({"unchecked", "rawtypes"}) // Scala's orderings of numbers are of their own boxed types.
  void ordersOfPartsMayHaveNumbersOfTheirOwn() {
    Ordering<String> byLength = Ordering$.MODULE$.comparatorToOrdering(new ByLength());
    JavaPairRDD<Tuple2<String, Object>, Integer> records = spark.numbers(ROWS).coalesce(1)
        .mapToPair(n -> new Tuple2<>(new Tuple2<>("x".repeat((mixed(n) >>> 4) % 30), mixed(n)), n));
    for (Ordering<String> first : List.of(byLength, byLength.reverse())) {
      spark.assertSame(context -> RddOnBothEngines.inOrder(RddOnBothEngines
          .shuffled(records, new HashPartitioner(2))
          .setKeyOrdering(Ordering$.MODULE$.Tuple2(first, (Ordering) Ordering.Int$.MODULE$))));
    }
  }

  @Test
  void fractionsAreSortedAsRows() throws ReflectiveOperationException {
    JavaPairRDD<Object, Integer> doubles =
        spark.numbers(ROWS).coalesce(1).mapToPair(n -> new Tuple2<>(Part.fraction(mixed(n)), n));
    assertSortedAsRows(Ordering.DeprecatedDoubleOrdering$.MODULE$, doubles);
    assertSortedAsRows(scalas("Double$TotalOrdering$").reverse(), doubles);
    assertSortedAsRows(scalas("Double$IeeeOrdering$"), doubles);
    JavaPairRDD<Object, Integer> floats =
        spark.numbers(ROWS).coalesce(1).mapToPair(n -> new Tuple2<>((float) Part.fraction(mixed(n)), n));
    assertSortedAsRows(Ordering.DeprecatedFloatOrdering$.MODULE$, floats);
  }

  /** An object that Java's compiler cannot name. */
  @SuppressWarnings("unchecked") // An ordering of numbers.
  private static Ordering<Object> scalas(String name) throws ReflectiveOperationException {
    return (Ordering<Object>) Class.forName(Ordering.class.getName() + "$" + name).getField("MODULE$").get(null);
  }

  /** Sorting by time within a user: the job's partitioner looks at the user only. */
  @Test
  void pairsAreSortedByKeyOverAllPartitions() {
    List<Part> parts = List.of(Part.FEW_INTS, Part.TEXT);
    for (Part first : parts) {
      spark.assertSame(context -> pairs(first, Part.LONGS).sortByKey(new ByParts(1, -1), true, 5)
          .map(String::valueOf).collect());
    }
  }

  @Test
  void pairsWithNullStayInOrder() {
    Comparator<Tuple2<Integer, Integer>> nullsLast = (Comparator<Tuple2<Integer, Integer>> & Serializable) (left,
        right) -> Comparator.nullsLast(Comparator.<Integer>naturalOrder()).compare(left._1(), right._1());
    spark.assertSame(context -> RddOnBothEngines.inOrder(RddOnBothEngines.shuffled(
        spark.numbers(ROWS).coalesce(1)
            .mapToPair(n -> new Tuple2<>(new Tuple2<>(n % 3 == 0 ? null : mixed(n), n), n)),
        new HashPartitioner(2)).setKeyOrdering(Ordering$.MODULE$.comparatorToOrdering(nullsLast))));
  }
}
