package io.sluice.spark.order;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.Await;
import io.sluice.spark.LocalSpark;
import io.sluice.spark.VariantsInAll;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.function.IntUnaryOperator;
import java.util.stream.IntStream;
import org.apache.spark.Aggregator;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import scala.Product2;
import scala.Tuple2;
import scala.collection.Iterator;

/** Combining by the bytes of keys gives what Spark's aggregator gives. In real tasks. */
@Timeout(180)
class RecordCombinerTest {
  private static final int COUNT = 10_000;
  private static LocalSpark spark;

  /** Tables are counted in Spark's memory from 32 KiB on. */
  @BeforeAll
  static void start() {
    spark = LocalSpark.start(Map.of("spark.shuffle.spill.initialMemoryThreshold", "32k"));
  }

  @AfterAll
  static void stop() {
    spark.close();
  }

  /** Tasks have given back all that they took, also those that failed. */
  @AfterEach
  void nothingIsHeld() {
    assertEquals(0, SparkEnv.get().memoryManager().executionMemoryUsed());
  }

  /** Statics, because Spark would want to serialize anything else; tasks of a local application run in this process. */
  private static final class Body {
    private static Function<TaskContext, Object> body;
    private static Object result;

    private static void run() {
      result = body.apply(TaskContext.get());
    }
  }

  @SuppressWarnings("unchecked")
  private static <T> T inTask(Function<TaskContext, T> body) {
    Body.body = body::apply;
    JavaSparkContext.fromSparkContext(spark.session().sparkContext()).parallelize(List.of(1), 1)
        .foreach(one -> Body.run());
    return (T) Body.result;
  }

  /** The values of a key, in the order in which they came. */
  private static Aggregator<Object, Object, List<Object>> lists() {
    return new Aggregator<>(value -> {
      List<Object> list = new ArrayList<>();
      list.add(value);
      return list;
    }, (list, value) -> {
      list.add(value);
      return list;
    }, (left, right) -> {
      left.addAll(right);
      return left;
    });
  }

  /** What a task gives: the combined records in order, and how it came to them. */
  private record Outcome(List<Tuple2<Object, Object>> records, long spilledBytes, long peakBytes, Counters counters) {
    Map<Object, Object> byKey() {
      Map<Object, Object> map = new LinkedHashMap<>();
      records.forEach(record -> assertFalse(map.containsKey(record._1()) && isComparable(record._1()),
          () -> record._1() + " twice"));
      records.forEach(record -> map.put(record._1(), record._2()));
      assertEquals(records.size(), map.size());
      return map;
    }

    private static boolean isComparable(Object key) {
      return !(key instanceof byte[]);
    }
  }

  private interface Combine {
    Iterator<? extends Product2<Object, Object>> of(TaskContext context, Counters counters);
  }

  private static Outcome outcome(Combine combine) {
    return inTask(context -> {
      Counters counters = new Counters();
      Iterator<? extends Product2<Object, Object>> combined = combine.of(context, counters);
      List<Tuple2<Object, Object>> records = new ArrayList<>();
      while (combined.hasNext()) {
        Product2<Object, Object> record = combined.next();
        records.add(new Tuple2<>(record._1(), record._2()));
      }
      assertEquals(0, context.taskMemoryManager().getMemoryConsumptionForThisTask());
      return new Outcome(records, context.taskMetrics().memoryBytesSpilled(),
          context.taskMetrics().peakExecutionMemory(), counters);
    });
  }

  @SuppressWarnings({"unchecked", "rawtypes"})
  private static <C> RecordCombiner<Object, Object, Object> combiner(
      Aggregator<Object, Object, C> aggregator, TaskContext context, Counters counters) {
    return new RecordCombiner<>((Combining) Combining.ofValues(aggregator), SparkEnv.get().serializer(), context,
        counters);
  }

  private static <C> Outcome asRows(TestRecords records, Aggregator<Object, Object, C> aggregator) {
    return outcome((context, counters) -> {
      TestRecords.Rows rows = records.rows(context);
      return combiner(aggregator, context, counters).combineRows(rows, rows.records(context));
    });
  }

  /** Keys that Scala calls equal, and Java not, are in different partitions. */
  private static int partition(Object key) {
    return key == null ? 0 : 31 * key.getClass().hashCode() + key.hashCode();
  }

  private static <C> Outcome asObjects(TestRecords records, Aggregator<Object, Object, C> aggregator) {
    return outcome((context, counters) -> combiner(aggregator, context, counters)
        .combine(records.objects(), RecordCombinerTest::partition));
  }

  @SuppressWarnings("unchecked")
  private static <C> Outcome onStock(TestRecords records, Aggregator<Object, Object, C> aggregator) {
    return outcome((context, counters) -> (Iterator<Tuple2<Object, Object>>) (Iterator<?>) aggregator
        .combineValuesByKey(records.objects(), context));
  }

  private static void assertLikeStock(TestRecords records, boolean allAsRows) {
    Outcome stock = onStock(records, lists());
    Outcome objects = asObjects(records, lists());
    Outcome rows = asRows(records, lists());
    assertEquals(stock.byKey(), rows.byKey());
    assertEquals(stock.byKey(), objects.byKey());
    assertEquals(allAsRows ? 1 : 0, rows.counters().get(Counter.READ_PARTITIONS_COMBINED_AS_ROWS));
    assertEquals(0, rows.spilledBytes());
    assertEquals(classes(stock), classes(rows));
    boolean few = keys(stock).size() <= SparkMapOrder.MOST_KEYS;
    assertEquals(few || !allAsRows ? keys(stock) : records.distinctKeys(), keys(rows));
    assertEquals(records.distinctKeys(), keys(objects), "the order is that of arrival");
  }

  private static List<Object> keys(Outcome outcome) {
    return new ArrayList<>(outcome.byKey().keySet());
  }

  private static Map<Object, Class<?>> classes(Outcome outcome) {
    Map<Object, Class<?>> classes = new HashMap<>();
    outcome.byKey().keySet().forEach(key -> classes.put(key, key == null ? null : key.getClass()));
    return classes;
  }

  private static TestRecords records(IntFunction<Object> keys) {
    return TestRecords.of(COUNT, keys, n -> n);
  }

  private static int mixed(int n) {
    return new Random(n).nextInt();
  }

  @Test
  void numbersTextAndPairs() {
    assertLikeStock(records(n -> mixed(n) % 1000), true);
    assertLikeStock(records(n -> (long) (mixed(n) % 1000) << 33), true);
    assertLikeStock(records(n -> "key " + mixed(n) % 3000), true);
    assertLikeStock(records(n -> (n % 3 == 0 ? "\u0416" : "\u00e9") + mixed(n) % 1000), true);
    assertLikeStock(records(n -> new Tuple2<>(mixed(n) % 30, "k" + n % 30)), true);
    assertLikeStock(records(n -> new scala.Tuple2$mcJI$sp(mixed(n) % 30, n % 30)), true);
    assertLikeStock(records(n -> n), true);
    assertLikeStock(records(n -> n % (SparkMapOrder.MOST_KEYS + 1)), true);
    assertLikeStock(records(n -> n % SparkMapOrder.MOST_KEYS), true);
    assertLikeStock(records(n -> "one key"), true);
  }

  @Test
  void rarerKeys() {
    assertLikeStock(records(n -> n % 5 == 0 ? null : n % 5 == 1 ? "text" : (Object) (n % 40)), true);
    assertLikeStock(records(n -> (mixed(n) % 50) * 0.25), true);
    assertLikeStock(records(n -> new double[] {0.0, -0.0, Double.NaN}[n % 3]), true);
    assertLikeStock(records(n -> List.<Object>of(1, 1L, (short) 1, (byte) 1, '\1', 1f, 1.0, "1", true).get(n % 9)),
        true);
    assertLikeStock(records(n -> n % 2 == 0 ? scala.runtime.BoxedUnit.UNIT : (Object) (char) (n % 100)), true);
  }

  @Test
  void nullValues() {
    assertLikeStock(TestRecords.of(COUNT, n -> n % 100, n -> n % 3 == 0 ? null : n % 3 == 1 ? "v" : (Object) n), true);
  }

  /** The first of the other keys comes after thousands of usual ones, or at once. */
  @VariantsInAll(oneOf = 2)
  @ParameterizedTest
  @ValueSource(ints = {0, 1, 6_789, COUNT - 1})
  void keysThatTheirBytesDoNotStandFor(int from) {
    List<IntFunction<Object>> others = List.of(
        n -> new Tuple2<>((long) (n % 10), "k"), n -> new Tuple2<>(1.0 * (n % 10), "k"),
        n -> new TestRecords.Point(n % 9),
        n -> Double.longBitsToDouble(0x7FF8_0000_0000_0001L));
    for (IntFunction<Object> other : others) {
      assertLikeStock(records(n -> n < from ? new Tuple2<>(n % 10, "k") : other.apply(n)),
          from == 0 && isLikePairOfOneType(other));
      assertLikeStock(
          records(n -> n < from ? n % 500 : n % 2 == 0 ? n % 600 : other.apply(n)), isLikePairOfOneType(other));
    }
  }

  /** Pairs of one type are refused only beside other pairs. */
  private static boolean isLikePairOfOneType(IntFunction<Object> other) {
    return other.apply(0) instanceof Tuple2<?, ?> pair && pair._1() instanceof Long;
  }

  @Test
  void byteArraysAreEqualToThemselvesOnly() {
    TestRecords records = records(n -> n % 2 == 0 ? n % 100 : (Object) new byte[] {1});
    Outcome rows = asRows(records, lists());
    assertEquals(COUNT / 2 + 50, rows.records().size());
    assertEquals(onStock(records, lists()).records().size(), rows.records().size());
  }

  @Test
  void combinersThatAreNull() {
    Aggregator<Object, Object, Object> aggregator = new Aggregator<>(value -> (Integer) value % 2 == 0 ? null : value,
        (combiner, value) -> combiner == null ? value : null, (left, right) -> left);
    TestRecords records = records(n -> mixed(n) % 300);
    assertEquals(onStock(records, aggregator).byKey(), asRows(records, aggregator).byKey());
    assertEquals(onStock(records, aggregator).byKey(), asObjects(records, aggregator).byKey());
  }

  @Test
  void combinedValuesAreMerged() {
    TestRecords records = TestRecords.of(COUNT, n -> mixed(n) % 500, n -> "v" + n % 7);
    Aggregator<Object, Object, Object> aggregator = new Aggregator<>(value -> {
      throw new IllegalStateException("the map side creates combiners");
    }, (combiner, value) -> null, (left, right) -> left + "," + right);
    Outcome rows = outcome((context, counters) -> {
      TestRecords.Rows all = records.rows(context);
      return new RecordCombiner<Object, Object, Object>(Combining.ofCombiners(aggregator), SparkEnv.get().serializer(),
          context, counters).combineRows(all, all.records(context));
    });
    Outcome stock = outcome((context, counters) -> aggregator.combineCombinersByKey(records.objects(), context));
    assertEquals(stock.byKey(), rows.byKey());
  }

  /** As {@link #lists}, doing something when a record comes. */
  private static Aggregator<Object, Object, List<Object>> listsWith(IntUnaryOperator onValue) {
    Aggregator<Object, Object, List<Object>> lists = lists();
    return new Aggregator<>(value -> {
      onValue.applyAsInt((Integer) value);
      return lists.createCombiner().apply(value);
    }, (list, value) -> {
      onValue.applyAsInt((Integer) value);
      return lists.mergeValue().apply(list, value);
    }, lists.mergeCombiners());
  }

  private static Map<Object, Object> sortedLists(Outcome outcome) {
    Map<Object, Object> sorted = new HashMap<>();
    outcome.byKey().forEach((key, list) -> sorted.put(key, ((List<?>) list).stream().map(n -> (Integer) n).sorted()
        .toList()));
    return sorted;
  }

  /** Nothing is lost or doubled; while nothing is spilled, the order of values stays. */
  @VariantsInAll
  @ParameterizedTest
  @ValueSource(ints = {0, 1, 3000, COUNT - 1})
  void memoryIsTakenAwayAtSomeRecord(int at) {
    List<IntFunction<Object>> kinds = List.of(n -> mixed(n) % 3000, n -> "key " + mixed(n) % 3000,
        n -> new Tuple2<>("a", mixed(n) % 3000));
    for (IntFunction<Object> kind : kinds) {
      TestRecords records = records(kind);
      Map<Object, Object> expected = sortedLists(onStock(records, lists()));
      for (boolean rows : new boolean[] {true, false}) {
        Outcome outcome = outcome((context, counters) -> {
          Greedy greedy = new Greedy(context);
          Aggregator<Object, Object, List<Object>> lists = listsWith(n -> n == at ? (int) greedy.takeAll() : 0);
          TestRecords.Rows all = records.rows(context);
          Iterator<Product2<Object, Object>> combined = rows
              ? combiner(lists, context, counters).combineRows(all, all.records(context))
              : combiner(lists, context, counters).combine(records.objects(), RecordCombinerTest::partition);
          greedy.freeMemory(greedy.getUsed());
          return combined;
        });
        assertEquals(expected, sortedLists(outcome));
        assertEquals(1, outcome.counters().get(Counter.COMBINED_BY_SPARK));
        assertEquals(0, outcome.counters().get(Counter.READ_PARTITIONS_COMBINED_AS_ROWS));
        assertTrue(outcome.spilledBytes() > 0 || at == COUNT - 1, "Spark's map spilled nothing");
      }
    }
  }

  /** It was asked for its memory, and Spark's map gets as much: the order of values stays. */
  @Test
  void anotherOperatorsWishMovesRecordsWithoutSpilling() {
    TestRecords records = records(n -> mixed(n) % 3000);
    Outcome outcome = outcome((context, counters) -> {
      Greedy greedy = new Greedy(context);
      TestRecords.Rows all = records.rows(context);
      return combiner(listsWith(n -> {
        if (n == COUNT / 2) {
          greedy.takeAll();
          greedy.freeMemory(greedy.getUsed());
        }
        return 0;
      }), context, counters).combineRows(all, all.records(context));
    });
    assertEquals(onStock(records, lists()).byKey(), outcome.byKey());
    assertEquals(1, outcome.counters().get(Counter.COMBINED_BY_SPARK));
    assertEquals(0, outcome.spilledBytes());
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 63, 64, 65, 1000, 2990, 2999, 3000})
  void memoryIsTakenAwayWhileRecordsAreRead(int at) {
    TestRecords records = TestRecords.of(COUNT, n -> "key " + n % 3000, n -> n);
    Outcome outcome = inTask(context -> {
      Counters counters = new Counters();
      TestRecords.Rows all = records.rows(context);
      Iterator<Product2<Object, Object>> combined =
          combiner(lists(), context, counters).combineRows(all, all.records(context));
      Greedy greedy = new Greedy(context);
      long held = context.taskMemoryManager().getMemoryConsumptionForThisTask();
      assertTrue(held > 3000 * 50, () -> held + " bytes");
      List<Tuple2<Object, Object>> taken = new ArrayList<>();
      while (combined.hasNext()) {
        if (taken.size() == at) {
          greedy.takeAll();
          assertEquals(greedy.getUsed(), context.taskMemoryManager().getMemoryConsumptionForThisTask());
        }
        Product2<Object, Object> record = combined.next();
        taken.add(new Tuple2<>(record._1(), record._2()));
      }
      assertFalse(combined.hasNext());
      greedy.freeMemory(greedy.getUsed());
      assertEquals(0, context.taskMemoryManager().getMemoryConsumptionForThisTask());
      assertEquals(at < 2936, context.taskMetrics().diskBytesSpilled() > 0);
      return new Outcome(taken, context.taskMetrics().memoryBytesSpilled(), 0, counters);
    });
    assertEquals(onStock(records, lists()).byKey(), outcome.byKey());
    assertEquals(keys(onStock(records, lists())), keys(outcome), "spilled records keep their order");
    assertEquals(at < 2936, outcome.spilledBytes() > 0);
  }

  /** What is not read, and what was spilled, is freed when the task ends. */
  @Test
  void recordsThatNobodyReads() {
    TestRecords records = records(n -> mixed(n) % 3000);
    for (boolean spilled : new boolean[] {false, true}) {
      inTask(context -> {
        TestRecords.Rows all = records.rows(context);
        combiner(lists(), context, new Counters()).combineRows(all, all.records(context)).next();
        if (spilled) {
          Greedy greedy = new Greedy(context);
          greedy.takeAll();
          greedy.freeMemory(greedy.getUsed());
        }
        return null;
      });
      nothingIsHeld();
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 7777})
  void exceptionsOfTheUsersFunctionsAreNotCaught(int at) {
    class Mine extends RuntimeException {}

    TestRecords records = records(n -> mixed(n) % 300);
    IntUnaryOperator failing = n -> {
      if (n == at) {
        throw new Mine();
      }
      return 0;
    };
    inTask(context -> {
      TestRecords.Rows all = records.rows(context);
      assertThrows(Mine.class, () -> combiner(listsWith(failing), context, new Counters())
          .combineRows(all, all.records(context)));
      assertThrows(Mine.class, () -> combiner(listsWith(failing), context, new Counters())
          .combine(records.objects(), RecordCombinerTest::partition));
      return null;
    });
  }

  @Test
  void peakMemoryIsAboutSparks() {
    TestRecords records = TestRecords.of(COUNT, n -> "key " + n % 5000, n -> "some value " + n);
    long stock = onStock(records, lists()).peakBytes();
    long objects = asObjects(records, lists()).peakBytes();
    long rows = asRows(records, lists()).peakBytes();
    assertTrue(objects > stock / 2 && objects < stock * 3 / 2, () -> objects + " and " + stock);
    assertTrue(rows > stock / 3 && rows < stock * 3 / 2, () -> rows + " and " + stock);
  }

  /** A function that looks at the identity of its arguments sees what it returned. */
  @Test
  void combinersAreHandedBackAsTheyAre() {
    List<Object> made = new ArrayList<>();
    Aggregator<Object, Object, Object> aggregator = new Aggregator<>(value -> {
      made.add(new Object());
      return made.get(made.size() - 1);
    }, (combiner, value) -> {
      assertTrue(made.contains(combiner));
      return combiner;
    }, (left, right) -> left);
    Outcome outcome = asRows(TestRecords.of(1000, n -> n % 10, n -> n), aggregator);
    Map<Object, Object> combined = outcome.byKey();
    IntStream.range(0, 10).forEach(i -> assertSame(made.get(i), combined.get(i)));
  }

  /** Though listeners of the task know the table until it ends. */
  @Test
  void whatWasReadCanBeCollected() {
    TestRecords records = records(n -> n % 2000);
    for (boolean moved : new boolean[] {false, true}) {
      inTask(context -> {
        List<WeakReference<Object>> made = new ArrayList<>();
        Greedy greedy = new Greedy(context);
        Aggregator<Object, Object, Object> aggregator = new Aggregator<>(value -> {
          Object combiner = new Object();
          made.add(new WeakReference<>(combiner));
          return combiner;
        }, (combiner, value) -> {
          if (moved && value.equals(COUNT / 2)) {
            greedy.takeAll();
            greedy.freeMemory(greedy.getUsed());
          }
          return combiner;
        }, (left, right) -> left);
        TestRecords.Rows all = records.rows(context);
        Counters counters = new Counters();
        assertEquals(2000, combiner(aggregator, context, counters).combineRows(all, all.records(context)).size());
        assertEquals(moved ? 1 : 0, counters.get(Counter.COMBINED_BY_SPARK));
        Await.until("the combiners are collected", () -> {
          System.gc();
          return made.stream().allMatch(reference -> reference.get() == null);
        });
        return null;
      });
    }
  }
}
