package io.sluice.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.metrics.Counter;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.spark.Partitioner;
import org.apache.spark.SparkEnv;
import org.apache.spark.SparkException;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.rdd.ShuffledRDD;
import scala.Product2;
import scala.Tuple2;
import scala.reflect.ClassTag;

import scala.reflect.ClassTag$;

/** Runs jobs on RDDs twice in one application, on Sluice and then on Spark's own shuffle, and compares the results. */
final class RddOnBothEngines implements AutoCloseable {
  /** A job whose shuffles are all made when it runs. */
  interface Job<T> {
    T run(JavaSparkContext spark);
  }

  private final LocalSpark spark;
  private final JavaSparkContext context;

  private RddOnBothEngines(LocalSpark spark) {
    this.spark = spark;
    this.context = JavaSparkContext.fromSparkContext(spark.session().sparkContext());
  }

  static RddOnBothEngines start(Map<String, String> settings) {
    return new RddOnBothEngines(LocalSpark.start(settings));
  }

  static RddOnBothEngines start(String master, Map<String, String> settings) {
    return new RddOnBothEngines(LocalSpark.start(master, settings));
  }

  JavaSparkContext context() {
    return context;
  }

  long counter(Counter counter) {
    return spark.counter(counter);
  }

  /** Runs {@code job} on both, where it must give the same result. */
  void assertSame(Job<List<String>> job) {
    List<String> ours = onSluice(job);
    assertNotEquals(List.of(), ours);
    assertEquals(onStock(job), ours);
  }

  /** Runs {@code job} on both, where it must fail and say {@code text}; then nothing is held and the next job runs. */
  void assertFails(String text, Job<?> job) {
    assertFails(text, text, job);
  }

  /** The same with the texts of Sluice and of stock. */
  void assertFails(String text, String stockText, Job<?> job) {
    assertSays(text, assertThrows(SparkException.class, () -> run(job, true), "on Sluice"));
    assertSays(stockText, assertThrows(SparkException.class, () -> run(job, false), "on stock"));
    assertNothingIsHeld();
    assertEquals(0, counter(Counter.READ_FETCH_FAILURES));
    long groups = onSluice(any -> numbers(100).mapToPair(n -> new Tuple2<>(n, n)).groupByKey(3).count());
    assertEquals(100, groups);
  }

  private static void assertSays(String text, SparkException failure) {
    assertTrue(failure.getMessage().contains(text), failure::getMessage);
  }

  <T> T onSluice(Job<T> job) {
    long records = counter(Counter.SHUFFLES_RECORDS);
    T result = run(job, true);
    assertTrue(counter(Counter.SHUFFLES_RECORDS) > records, "no shuffle took the records path");
    assertNothingIsHeld();
    return result;
  }

  <T> T onStock(Job<T> job) {
    long stock = counter(Counter.SHUFFLES_STOCK);
    T result = run(job, false);
    assertTrue(counter(Counter.SHUFFLES_STOCK) > stock, "no shuffle was Spark's own");
    return result;
  }

  private <T> T run(Job<T> job, boolean sluice) {
    spark.session().conf().set("spark.sluice.enabled", Boolean.toString(sluice));
    return job.run(context);
  }

  /** Waits for tasks that are still ending, then checks that they hold no memory and left no files. */
  void assertNothingIsHeld() {
    Await.until("the budget is unused", () -> spark.manager().executorState().memory().budget().usedBytes() == 0);
    Await.until("no bytes are in flight", () -> spark.manager().executorState().readAheadBytes().usedBytes() == 0);
    Await.until("Spark's execution memory is unused", () -> SparkEnv.get().memoryManager().executionMemoryUsed() == 0);
    assertEquals(0, counter(Counter.MEMORY_LEAKED_BYTES));
    assertEquals(0, counter(Counter.MEMORY_LEAKED_LEASES));
  }

  /** 0 until {@code count}, in four map tasks. */
  JavaRDD<Integer> numbers(int count) {
    return context.parallelize(IntStream.range(0, count).boxed().toList(), 4);
  }

  /** A shuffle of {@code records} that can be given whatever Spark's Scala API can. */
  static <K, V> ShuffledRDD<K, V, V> shuffled(JavaPairRDD<K, V> records, Partitioner partitioner) {
    return shuffledTo(records, partitioner);
  }

  /** The same where an aggregator will make other values. */
  @SuppressWarnings("unchecked") // A JavaPairRDD holds pairs, which are products.
  static <K, V, C> ShuffledRDD<K, V, C> shuffledTo(JavaPairRDD<K, V> records, Partitioner partitioner) {
    return new ShuffledRDD<>((RDD<? extends Product2<K, V>>) (RDD<?>) records.rdd(), partitioner, any(), any(), any());
  }

  @SuppressWarnings("unchecked") // As Spark's Java API does it: the classes are not known.
  private static <T> ClassTag<T> any() {
    return (ClassTag<T>) (ClassTag<?>) ClassTag$.MODULE$.AnyRef();
  }

  /** The records as text, partition after partition, each in its own order. */
  static List<String> inOrder(ShuffledRDD<?, ?, ?> records) {
    // Kryo cannot read the JDK's immutable lists.
    return records.toJavaRDD().glom()
        .map(partition -> new ArrayList<>(partition.stream().map(String::valueOf).toList())).collect().stream().flatMap(List::stream).toList();
  }

  static List<String> sorted(List<?> records) {
    return records.stream().map(String::valueOf).sorted().toList();
  }

  static List<Integer> sortedValues(Iterable<Integer> values) {
    List<Integer> list = new ArrayList<>();
    values.forEach(list::add);
    list.sort(Comparator.nullsFirst(Comparator.naturalOrder()));
    return list;
  }

  @Override
  public void close() {
    spark.close();
  }
}
