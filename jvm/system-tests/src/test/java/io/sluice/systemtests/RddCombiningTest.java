package io.sluice.systemtests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.metrics.Counter;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.StreamSupport;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import scala.Tuple2;

/** RDDs that are grouped and combined by key give stock's records, with memory for all of them and without. */
@Tag("deep")
class RddCombiningTest {
  private static final int COUNT = 120_000;
  private static final int SLICES = 4;
  private static final int PARTITIONS = 5;
  /** Some 3 MB for all tasks, and tables are counted from 64 KiB on. */
  private static final Map<String, String> LITTLE_MEMORY = Map.of("spark.testing.memory", Long.toString(64 << 20),
      "spark.testing.reservedMemory", "0", "spark.memory.fraction", "0.05",
      "spark.shuffle.spill.initialMemoryThreshold", "64k");

  private static List<String> expected;

  @BeforeAll
  static void reference() {
    try (SparkApplication stock = SparkApplication.on(Engine.STOCK).start()) {
      expected = results(stock.context());
    }
  }

  @Test
  void allInMemory() {
    try (SparkApplication application = SparkApplication.on(Engine.UNDER_TEST).start()) {
      assertEquals(expected, results(application.context()));
      if (Engine.writesFrames()) {
        assertTrue(ProcessCounters.here(Counter.READ_PARTITIONS_COMBINED_AS_ROWS) > 0, "nothing was combined as rows");
        assertEquals(0, ProcessCounters.here(Counter.COMBINED_BY_SPARK));
      }
      NativeMemory.assertAllReturned();
    }
  }

  @InAll
  @Test
  void withLittleMemory() {
    try (SparkApplication application = SparkApplication.on(Engine.UNDER_TEST).setAll(LITTLE_MEMORY).start()) {
      assertEquals(expected, results(application.context()));
      if (Engine.writesFrames()) {
        assertTrue(ProcessCounters.here(Counter.COMBINED_BY_SPARK) > 0, "nothing had to leave the memory");
      }
      NativeMemory.assertAllReturned();
    }
  }

  @InAll
  @Test
  void inExecutors() {
    SparkApplication.Builder builder = SparkApplication.on(Engine.UNDER_TEST).master(SparkApplication.CLUSTER);
    try (SparkApplication application = builder.start().awaitExecutors(2)) {
      assertEquals(expected, results(application.context()));
      NativeMemory.assertAllReturnedBy(application);
    }
  }

  /** Records of each job as text, in one order. */
  private static List<String> results(JavaSparkContext context) {
    List<Integer> list = IntStream.range(0, COUNT).boxed().collect(Collectors.toList());
    JavaRDD<Integer> numbers = context.parallelize(list, SLICES);
    JavaPairRDD<String, Integer> words = numbers.mapToPair(n -> new Tuple2<>("word " + n * 7919 % 30_011, n));
    List<String> results = new ArrayList<>();
    add(results, words.reduceByKey(Integer::sum, PARTITIONS));
    add(results, words.groupByKey(PARTITIONS).mapValues(RddCombiningTest::sorted));
    add(results, words.aggregateByKey(new TreeSet<Integer>(), PARTITIONS, RddCombiningTest::with,
        RddCombiningTest::withAll));
    add(results, numbers.mapToPair(n -> new Tuple2<>(new Tuple2<>(n % 300, (long) n % 70), "v" + n))
        .groupByKey(PARTITIONS).mapValues(RddCombiningTest::sorted));
    add(results, numbers.mapToPair(n -> new Tuple2<>(n % 8 == 0 ? null : n % 5000 * 0.5, n % 100))
        .reduceByKey(Math::max, PARTITIONS));
    add(results, words.reduceByKey(Integer::sum, PARTITIONS).join(words.mapValues(n -> n % 3).distinct(PARTITIONS)));
    return results;
  }

  private static void add(List<String> results, JavaPairRDD<?, ?> records) {
    records.collect().stream().map(String::valueOf).sorted().forEach(results::add);
  }

  private static <V extends Comparable<V>> List<V> sorted(Iterable<V> values) {
    List<V> list = StreamSupport.stream(values.spliterator(), false).collect(Collectors.toList());
    Collections.sort(list);
    return list;
  }

  private static TreeSet<Integer> with(TreeSet<Integer> set, int n) {
    set.add(n % 10);
    return set;
  }

  private static TreeSet<Integer> withAll(TreeSet<Integer> set, TreeSet<Integer> other) {
    set.addAll(other);
    return set;
  }
}
