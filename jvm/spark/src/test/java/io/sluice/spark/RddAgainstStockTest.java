package io.sluice.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.primitives.UnsignedBytes;
import io.sluice.spark.metrics.Counter;
import java.io.Serializable;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.StreamSupport;
import org.apache.spark.HashPartitioner;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import scala.Tuple2;

/** RDD shuffles on Sluice and on Spark's own give the same records, with every kind of serializer. */
@Timeout(180)
class RddAgainstStockTest {
  private static final String JAVA = "org.apache.spark.serializer.JavaSerializer";
  private static final String KRYO = "org.apache.spark.serializer.KryoSerializer";

  /** A job: its result as text, one string per record. */
  private interface Job {
    List<String> run(JavaSparkContext spark);
  }

  /** A key that has no shape. Not a Java record, which Kryo cannot write. */
  private static final class Custom implements Serializable {
    private static final long serialVersionUID = 1L;
    private final int number;
    private final String name;

    Custom(int number, String name) {
      this.number = number;
      this.name = name;
    }

    @Override
    public boolean equals(Object other) {
      return other instanceof Custom custom && custom.number == number && custom.name.equals(name);
    }

    @Override
    public int hashCode() {
      return number;
    }

    @Override
    public String toString() {
      return name + number;
    }
  }

  private LocalSpark spark;

  @AfterEach
  void stop() {
    if (spark != null) {
      spark.close();
    }
  }

  private JavaSparkContext start(String serializer) {
    spark = LocalSpark.start(Map.of("spark.serializer", serializer, "spark.sluice.enabled", "true"));
    return JavaSparkContext.fromSparkContext(spark.session().sparkContext());
  }

  /** Runs {@code job} on both; {@code serialized} says whether its records go through the serializer. */
  private void assertSame(String serializer, boolean serialized, Job job) {
    JavaSparkContext context = start(serializer);
    List<String> ours = job.run(context);
    assertTrue(spark.counter(Counter.SHUFFLES_RECORDS) > 0, "no shuffle took the records path");
    assertEquals(0, spark.counter(Counter.SHUFFLES_STOCK));
    assertEquals(serialized, spark.counter(Counter.WRITE_RECORDS_SERIALIZED) > 0);
    assertEquals(0, spark.counter(Counter.MEMORY_LEAKED_BYTES));
    assertEquals(0, spark.manager().executorState().memory().budget().usedBytes());
    spark.session().conf().set("spark.sluice.enabled", "false");
    List<String> stock = job.run(context);
    assertTrue(spark.counter(Counter.SHUFFLES_STOCK) > 0);
    assertEquals(stock, ours);
  }

  private void assertSortedAsRows(boolean expected) {
    assertEquals(expected, spark.counter(Counter.READ_PARTITIONS_SORTED_AS_ROWS) > 0);
  }

  private static JavaRDD<Integer> numbers(JavaSparkContext context, int count) {
    return context.parallelize(IntStream.range(0, count).boxed().toList(), 4);
  }

  private static <T> List<String> sorted(List<T> records) {
    return records.stream().map(String::valueOf).sorted().collect(Collectors.toList());
  }

  private static int mixed(int n) {
    return n * 0x9E3779B1 >>> 8;
  }

  @VariantsInAll
  @ParameterizedTest
  @ValueSource(strings = {JAVA, KRYO})
  void reduceByKeyCombinesOnBothSides(String serializer) {
    assertSame(serializer, false, context -> sorted(
        numbers(context, 20_000).mapToPair(n -> new Tuple2<>("word" + mixed(n) % 500, 1L)).reduceByKey(Long::sum)
            .collect()));
  }

  @VariantsInAll
  @ParameterizedTest
  @ValueSource(strings = {JAVA, KRYO})
  void groupByKeyKeepsTheOrderOfValues(String serializer) {
    assertSame(serializer, false, context -> sorted(numbers(context, 10_000)
        .mapToPair(n -> new Tuple2<>(n % 77, n)).partitionBy(new HashPartitioner(5)).groupByKey(3)
        .mapValues(values -> {
          List<Integer> perMap = new ArrayList<>();
          values.forEach(perMap::add);
          perMap.sort(Comparator.comparingInt(n -> n / 2500));
          return perMap;
        }).collect()));
    assertSortedAsRows(false);
  }

  @VariantsInAll
  @ParameterizedTest
  @ValueSource(strings = {JAVA, KRYO})
  void sortByKey(String serializer) {
    assertSame(serializer, false, context -> numbers(context, 20_000)
        .mapToPair(n -> new Tuple2<>(mixed(n), "value " + n)).sortByKey(true, 9).collect().stream().map(String::valueOf)
        .toList());
    assertSortedAsRows(true);
  }

  @VariantsInAll
  @ParameterizedTest
  @ValueSource(strings = {JAVA, KRYO})
  void sortByStringsDescending(String serializer) {
    assertSame(serializer, false, context -> numbers(context, 20_000)
        .mapToPair(n -> new Tuple2<>("key " + mixed(n) % 5000 + (n % 9 == 0 ? "\u0416" : ""), "v"))
        .sortByKey(false, 9).collect().stream().map(String::valueOf).toList());
    assertSortedAsRows(true);
  }

  @VariantsInAll
  @ParameterizedTest
  @ValueSource(strings = {JAVA, KRYO})
  void sortByUnsignedBytes(String serializer) {
    assertSame(serializer, false, context -> numbers(context, 20_000)
        .mapToPair(
            n -> new Tuple2<>(BigInteger.valueOf(mixed(n)).multiply(BigInteger.valueOf(1L << 40)).toByteArray(), n))
        .repartitionAndSortWithinPartitions(new HashPartitioner(1), UnsignedBytes.lexicographicalComparator())
        .map(record -> new BigInteger(record._1()) + " " + record._2()).collect());
    assertSortedAsRows(true);
  }

  @VariantsInAll
  @ParameterizedTest
  @ValueSource(strings = {JAVA, KRYO})
  void sortByAUsersOrdering(String serializer) {
    assertSame(serializer, false, context -> numbers(context, 5000)
        .mapToPair(n -> new Tuple2<>(mixed(n), n))
        .sortByKey((Comparator<Integer> & Serializable) (a, b) -> Integer.compare(b ^ 5, a ^ 5), true, 4)
        .collect().stream().map(String::valueOf).toList());
    assertSortedAsRows(true);
  }

  @VariantsInAll
  @ParameterizedTest
  @ValueSource(strings = {JAVA, KRYO})
  void sortWithSomeSerializedValues(String serializer) {
    assertSame(serializer, true, context -> numbers(context, 8000)
        .mapToPair(n -> new Tuple2<Integer, Object>(mixed(n), n > 5000 ? new Custom(n, "odd") : (Object) n))
        .sortByKey(true, 5).collect().stream().map(String::valueOf).toList());
  }

  /** With a limit of 16 MiB for all tasks, of which a record would take more than twice. */
  @VariantsInAll
  @ParameterizedTest
  @ValueSource(strings = {JAVA, KRYO})
  void aRecordLargerThanTheMemoryLimit(String serializer) {
    spark = LocalSpark.start(Map.of("spark.serializer", serializer, "spark.sluice.memory.limit", "16m",
        "spark.kryoserializer.buffer.max", "128m"));
    JavaSparkContext context = JavaSparkContext.fromSparkContext(spark.session().sparkContext());
    List<Integer> lengths = numbers(context, 6)
        .mapToPair(n -> new Tuple2<>(n, patterned(n * 9_000_000 + 3))).partitionBy(new HashPartitioner(2))
        .map(record -> Arrays.equals(record._2(), patterned(record._1() * 9_000_000 + 3)) ? record._1() : -1).collect();
    assertEquals(List.of(0, 1, 2, 3, 4, 5), lengths.stream().sorted().toList());
    assertTrue(spark.counter(Counter.WRITE_RECORDS_SERIALIZED) > 0);
    assertEquals(6, spark.counter(Counter.WRITE_RECORDS));
  }

  private static byte[] patterned(int bytes) {
    byte[] array = new byte[bytes];
    for (int i = 0; i < bytes; i++) {
      array[i] = (byte) (i * 31 >>> 5 ^ i);
    }
    return array;
  }

  @Test
  void nullsPairsAndValuesAreEncodedInOneBatch() {
    assertSame(JAVA, false, context -> sorted(numbers(context, 40_000)
        .mapToPair(n -> new Tuple2<Integer, Object>(n % 9 == 0 ? null : n,
            n % 2 == 0 ? null : n % 3 == 0 ? new Tuple2<>(n, "x") : "text"))
        .partitionBy(new HashPartitioner(5)).collect()));
    spark.close();
    JavaSparkContext context = start(JAVA);
    numbers(context, 40_000).mapToPair(n -> new Tuple2<Integer, Object>(n, n % 2 == 0 ? null : "text"))
        .partitionBy(new HashPartitioner(5)).count();
    assertTrue(spark.counter(Counter.WRITE_BATCHES_BY_TASK) + spark.counter(Counter.WRITE_BATCHES_BY_POOL) <= 8);
  }

  @VariantsInAll
  @ParameterizedTest
  @ValueSource(strings = {JAVA, KRYO})
  void combineByKeyThenSortByACoarserOrdering(String serializer) {
    assertSame(serializer, false, context -> sorted(context.<Tuple2<String, Integer>>parallelize(
        IntStream.range(0, 9000).mapToObj(n -> new Tuple2<>(n % 2 == 0 ? "key" + n % 50 : "KEY" + n % 50, 1)).toList(),
        3)
        .mapToPair(record -> record).reduceByKey(Integer::sum)
        .repartitionAndSortWithinPartitions(new HashPartitioner(3), String.CASE_INSENSITIVE_ORDER).collect()));
  }

  @Test
  void sortedRecordsSpill() {
    spark = LocalSpark.start(Map.of("spark.shuffle.spill.numElementsForceSpillThreshold", "1000"));
    JavaSparkContext context = JavaSparkContext.fromSparkContext(spark.session().sparkContext());
    List<Integer> keys = numbers(context, 30_000).mapToPair(n -> new Tuple2<>(mixed(n), "value " + n))
        .sortByKey(true, 2).keys().collect();
    assertEquals(numbers(context, 30_000).map(RddAgainstStockTest::mixed).collect().stream().sorted().toList(), keys);
    assertTrue(spark.counter(Counter.SHUFFLES_RECORDS) > 0);
    assertSortedAsRows(true);
  }

  @VariantsInAll
  @ParameterizedTest
  @ValueSource(strings = {JAVA, KRYO})
  void joinOfByteArraysWithStrings(String serializer) {
    assertSame(serializer, false, context -> {
      JavaPairRDD<Long, byte[]> left = numbers(context, 3000).mapToPair(n -> new Tuple2<>((long) n, new byte[n % 50]));
      JavaPairRDD<Long, String> right =
          numbers(context, 2000).mapToPair(n -> new Tuple2<>(n * 2L, n % 7 == 0 ? null : "\u00e9" + n));
      return sorted(left.join(right, 6).map(r -> r._1() + " " + r._2()._1().length + " " + r._2()._2()).collect());
    });
  }

  @VariantsInAll
  @ParameterizedTest
  @ValueSource(strings = {JAVA, KRYO})
  void recordsOfClassesThatMustBeSerialized(String serializer) {
    assertSame(serializer, true, context -> sorted(numbers(context, 10_000)
        .mapToPair(n -> new Tuple2<>(new Custom(n % 100, "c"), BigInteger.valueOf(n))).reduceByKey(BigInteger::add, 13)
        .collect()));
  }

  @VariantsInAll
  @ParameterizedTest
  @ValueSource(strings = {JAVA, KRYO})
  void aKeyClassThatChangesWithinATaskKeepsTheOrder(String serializer) {
    assertSame(serializer, true, context -> numbers(context, 8000)
        .mapToPair(n -> new Tuple2<Integer, Object>(n % 10, n % 2000 == 1234 ? new Custom(n, "odd") : (Object) n))
        .partitionBy(new HashPartitioner(3))
        .mapPartitions(
            records -> StreamSupport.stream(((Iterable<Tuple2<Integer, Object>>) () -> records).spliterator(), false)
                .map(String::valueOf).iterator())
        .collect().stream().collect(Collectors.groupingBy(text -> text.hashCode() % 4)).values().stream()
        .flatMap(RddAgainstStockTest::perMapTask).toList());
  }

  /** Map outputs arrive in any order; the records of one map output keep their order. */
  private static java.util.stream.Stream<String> perMapTask(List<String> records) {
    return records.stream().sorted(Comparator.comparingInt(RddAgainstStockTest::mapTask));
  }

  private static int mapTask(String record) {
    String digits = record.substring(record.indexOf(',') + 1).replaceAll("\\D", "");
    return Integer.parseInt(digits) / 2000;
  }

  @VariantsInAll
  @ParameterizedTest
  @ValueSource(strings = {JAVA, KRYO})
  void distinct(String serializer) {
    assertSame(serializer, false,
        context -> sorted(numbers(context, 5000).map(n -> "k" + n % 900).distinct(500).collect()));
  }

  @VariantsInAll
  @ParameterizedTest
  @ValueSource(strings = {JAVA, KRYO})
  void emptyInput(String serializer) {
    assertSame(serializer, false,
        context -> sorted(numbers(context, 0).mapToPair(n -> new Tuple2<>(n, n)).groupByKey(4).collect()));
  }

  @VariantsInAll
  @ParameterizedTest
  @ValueSource(strings = {JAVA, KRYO})
  void valuesLargerThanAPage(String serializer) {
    assertSame(serializer, false, context -> sorted(numbers(context, 12)
        .mapToPair(n -> new Tuple2<>(n, new byte[n * 300_000])).groupByKey(4)
        .mapValues(values -> values.iterator().next().length).collect()));
  }
}
