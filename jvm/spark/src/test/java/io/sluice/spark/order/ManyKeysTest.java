package io.sluice.spark.order;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.LocalSpark;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import java.io.Serializable;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.function.IntFunction;
import org.apache.spark.Aggregator;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import scala.Product2;
import scala.Tuple2;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/** Combining so many keys, as objects, that several records are taken at once, gives what Spark's aggregator gives. */
@Timeout(180)
class ManyKeysTest {
  private static final int COUNT = 60_000;
  private static final int KEYS = 20_000;
  private static final String LONG = "long".repeat(100);
  private static LocalSpark spark;

  /** A key of few hash codes. */
  private record Colliding(int x) implements Serializable {
    @Override
    public int hashCode() {
      return x % 500;
    }
  }

  /** Tables are counted in Spark's memory from 32 KiB on. */
  @BeforeAll
  static void start() {
    spark = LocalSpark.start(Map.of("spark.shuffle.spill.initialMemoryThreshold", "32k"));
  }

  @AfterAll
  static void stop() {
    spark.close();
  }

  private static int key(int n) {
    return new Random(n).nextInt(KEYS);
  }

  /** Records that are made when they are asked for, as a job's; counts them. */
  private static class Records extends AbstractIterator<Product2<Object, Object>> {
    private final IntFunction<Object> keys;
    private final IntFunction<Object> values;
    private int next;

    Records(IntFunction<Object> keys, IntFunction<Object> values) {
      this.keys = keys;
      this.values = values;
    }

    @Override
    public boolean hasNext() {
      return next < COUNT;
    }

    @Override
    public Product2<Object, Object> next() {
      int n = next++;
      return new Tuple2<>(keys.apply(n), values.apply(n));
    }
  }

  /** What tells the order of a key's values. */
  private static Aggregator<Object, Object, Integer> inOrder() {
    return new Aggregator<>(ManyKeysTest::number, (combiner, value) -> 31 * combiner + number(value),
        (left, right) -> left + right);
  }

  private static int number(Object value) {
    return value instanceof StringBuilder text ? text.toString().hashCode() : value == null ? 7 : value.hashCode();
  }

  private static Map<Object, Object> all(Iterator<? extends Product2<Object, Object>> combined) {
    Map<Object, Object> all = new HashMap<>();
    int count = 0;
    while (combined.hasNext()) {
      Product2<Object, Object> record = combined.next();
      all.put(record._1(), record._2());
      count++;
    }
    assertEquals(count, all.size(), "a key came twice");
    return all;
  }

  @SuppressWarnings({"unchecked", "rawtypes"})
  private static Iterator<Product2<Object, Object>> combined(Aggregator<Object, Object, ?> aggregator, Records records,
      TaskContext context, Counters counters) {
    return new RecordCombiner<Object, Object, Object>((Combining) Combining.ofValues(aggregator),
        SparkEnv.get().serializer(), context, counters).combine(records, Objects::hashCode);
  }

  @SuppressWarnings("unchecked")
  private static Map<Object, Object> onStock(Aggregator<Object, Object, ?> aggregator, Records records) {
    return InTask.run(spark, context -> all((Iterator<Product2<Object, Object>>) (Iterator<?>) aggregator
        .combineValuesByKey(records, context)));
  }

  private static void assertLikeStock(IntFunction<Object> keys, IntFunction<Object> values) {
    Map<Object, Object> stock = onStock(inOrder(), new Records(keys, values));
    Counters counters = new Counters();
    assertEquals(stock, InTask.<Map<Object, Object>>run(spark,
        context -> all(combined(inOrder(), new Records(keys, values), context, counters))));
    assertEquals(0, counters.get(Counter.COMBINED_BY_SPARK));
    assertTrue(stock.size() > 10_000);
  }

  @Test
  void keysOfSeveralClasses() {
    assertLikeStock(n -> key(n), n -> n);
    assertLikeStock(n -> "key " + key(n), n -> n);
    assertLikeStock(n -> new Tuple2<>("k", (long) key(n)), n -> n);
    assertLikeStock(n -> new Colliding(key(n)), n -> n);
    assertLikeStock(n -> n % 3 == 0 ? null : n % 3 == 1 ? (Object) key(n) : Integer.toString(key(n)), n -> n);
    assertLikeStock(n -> n, n -> n);
  }

  @Test
  void valuesOfSeveralClasses() {
    assertLikeStock(ManyKeysTest::key, n -> null);
    assertLikeStock(ManyKeysTest::key, n -> n % 2 == 0 ? "v" + n : LONG + n);
    assertLikeStock(ManyKeysTest::key, n -> new Tuple2<>(1.5 * n, new Tuple2<>(n, "v")));
    assertLikeStock(ManyKeysTest::key, n -> n % 100 == 0 ? List.of(n) : (Object) n);
    assertLikeStock(ManyKeysTest::key, n -> new StringBuilder().append(n));
  }

  /** Hadoop's readers hand out one object again and again. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aValueThatChangesWhenTheNextRecordIsMade(boolean within) {
    StringBuilder shared = new StringBuilder();
    IntFunction<Object> values = n -> {
      shared.setLength(0);
      shared.append(n);
      return n % 10 == 0 ? n : within ? new Tuple2<>(1, shared) : (Object) shared;
    };
    Aggregator<Object, Object, Integer> aggregator = new Aggregator<>(ManyKeysTest::text,
        (combiner, value) -> 31 * combiner + text(value), (left, right) -> left + right);
    Map<Object, Object> stock = onStock(aggregator, new Records(ManyKeysTest::key, values));
    assertEquals(stock, InTask.<Map<Object, Object>>run(spark,
        context -> all(combined(aggregator, new Records(ManyKeysTest::key, values), context, new Counters()))));
  }

  private static int text(Object value) {
    return (value instanceof Tuple2<?, ?> pair ? pair._2() : value).toString().hashCode();
  }

  /** Else the other tests would test nothing. */
  @Test
  void recordsAreTakenBeforeTheyAreUsedWhereValuesCannotChange() {
    assertEquals(31, mostTakenAhead(n -> n));
    assertEquals(31, mostTakenAhead(n -> new Tuple2<>(n, "v")));
    assertEquals(0, mostTakenAhead(n -> List.of(n)));
    assertEquals(0, mostTakenAhead(n -> LONG));
    assertEquals(0, mostTakenAhead(n -> new java.util.concurrent.atomic.AtomicInteger(n)));
  }

  private static int mostTakenAhead(IntFunction<Object> values) {
    Records records = new Records(ManyKeysTest::key, values);
    int[] used = new int[1];
    int[] most = new int[1];
    Aggregator<Object, Object, Object> aggregator = new Aggregator<>(value -> {
      most[0] = Math.max(most[0], records.next - ++used[0]);
      return value;
    }, (combiner, value) -> {
      most[0] = Math.max(most[0], records.next - ++used[0]);
      return combiner;
    }, (left, right) -> left);
    InTask.run(spark, context -> all(combined(aggregator, records, context, new Counters())));
    assertEquals(COUNT, used[0]);
    return most[0];
  }

  /** What was taken before its use goes to Spark's map, each record once. */
  @ParameterizedTest
  @ValueSource(ints = {30_000, 30_001, 30_031, 45_678})
  void memoryIsTakenAwayAtSomeRecord(int at) {
    Aggregator<Object, Object, Long> sums = new Aggregator<>(value -> (long) (Integer) value,
        (combiner, value) -> combiner + (Integer) value, Long::sum);
    Map<Object, Object> stock = onStock(sums, new Records(ManyKeysTest::key, n -> n));
    Counters counters = new Counters();
    Map<Object, Object> combined = InTask.run(spark, context -> {
      Greedy greedy = new Greedy(context);
      Aggregator<Object, Object, Long> greedySums = new Aggregator<>(sums.createCombiner(), (combiner, value) -> {
        if ((Integer) value >= at && greedy.getUsed() == 0) {
          greedy.takeAll();
        }
        return combiner + (Integer) value;
      }, sums.mergeCombiners());
      Map<Object, Object> all =
          all(combined(greedySums, new Records(ManyKeysTest::key, n -> n), context, counters));
      greedy.freeMemory(greedy.getUsed());
      return all;
    });
    assertEquals(stock, combined);
    assertEquals(1, counters.get(Counter.COMBINED_BY_SPARK));
  }

  private static final class OfTheJob extends RuntimeException {}

  private static final class OfTheFunction extends RuntimeException {}

  /** The exception of the record that stock would have met first. */
  @ParameterizedTest
  @ValueSource(ints = {40_000, 40_001, 40_031, 40_032})
  void exceptionsComeInStocksOrder(int at) {
    IntFunction<Object> failingAfterwards = n -> {
      if (n == at + 1) {
        throw new OfTheJob();
      }
      return n;
    };
    Aggregator<Object, Object, Object> failing = new Aggregator<>(value -> {
      fail(value, at);
      return value;
    }, (combiner, value) -> {
      fail(value, at);
      return combiner;
    }, (left, right) -> left);
    InTask.run(spark, context -> {
      Counters counters = new Counters();
      assertThrows(OfTheFunction.class,
          () -> combined(failing, new Records(ManyKeysTest::key, failingAfterwards), context, counters));
      assertThrows(OfTheJob.class,
          () -> combined(inOrder(), new Records(ManyKeysTest::key, failingAfterwards), context, counters));
      return null;
    });
  }

  private static void fail(Object value, int at) {
    if (value.equals(at)) {
      throw new OfTheFunction();
    }
  }
}
