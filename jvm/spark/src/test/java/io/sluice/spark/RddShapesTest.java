package io.sluice.spark;

import static io.sluice.spark.RddOnBothEngines.sorted;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.metrics.Counter;
import java.io.Serializable;
import java.lang.reflect.Array;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.function.IntFunction;
import java.util.stream.StreamSupport;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.Text;
import org.apache.spark.HashPartitioner;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.function.PairFunction;
import org.apache.spark.rdd.PairRDDFunctions;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import scala.Option;
import scala.Some;
import scala.Tuple2;
import scala.Tuple3;
import scala.reflect.ClassTag;
import scala.util.Left;

import scala.reflect.ClassTag$;

/** Records of nested types, and of a job's own classes, in real jobs: as on Spark's own shuffle. */
@Timeout(180)
class RddShapesTest {
  private static final String JAVA = "org.apache.spark.serializer.JavaSerializer";
  private static final String KRYO = "org.apache.spark.serializer.KryoSerializer";

  /** As a case class is; a record refers to its list from two places. */
  static final class Sale implements Serializable {
    private static final long serialVersionUID = 1L;
    final int id;
    final String name;
    final List<Object> parts = new ArrayList<>();
    final List<Object> same = parts;

    Sale(int id, String name) {
      this.id = id;
      this.name = name;
      parts.add(name);
      parts.add(id / 3.0);
    }

    @Override
    public boolean equals(Object other) {
      return other instanceof Sale sale && sale.id == id && sale.name.equals(name) && sale.parts.equals(parts);
    }

    @Override
    public int hashCode() {
      return id;
    }

    @Override
    public String toString() {
      return name + id + parts + (same == parts);
    }
  }

  private static final List<IntFunction<Object>> KINDS =
      List.of(n -> new Tuple3<>(n, name(n), n / 3.0), n -> new Some<>(name(n)),
          n -> Option.empty(), n -> new int[] {n, n + 1}, n -> new Tuple2<>(new Tuple2<>(n, name(n)), new Some<>(n)),
          n -> scala.collection.immutable.Nil$.MODULE$.$colon$colon(n).$colon$colon("x"), n -> new BigDecimal(n),
          n -> new String[] {name(n), null}, n -> new Tuple2<>(new double[] {n}, null), n -> n, n -> null, n -> "flat",
          n -> new java.sql.Timestamp(n), n -> java.time.LocalDate.ofEpochDay(n), n -> new UUID(n, -n),
          n -> scala.collection.immutable.ArraySeq$.MODULE$.unsafeWrapArray(new int[] {n, n + 1}),
          n -> new Left<>(n), n -> new Integer[] {n, null}, n -> new Tuple2<?, ?>[] {new Tuple2<>(n, name(n))},
          RddShapesTest::set, n -> new ArrayList<>(List.of(n, name(n))), n -> new HashSet<>(List.of(n, name(n))));
  private static final List<IntFunction<Object>> KEYS =
      List.of(n -> n % 77, n -> name(n), n -> new Sale(n % 7, "key"), n -> n % 9L,
          n -> "x".repeat(2000 + n % 3), n -> n % 2 == 0, n -> new Some<>(n % 10), n -> null, n -> (char) (n % 300));

  private static Object set(int n) {
    scala.collection.mutable.HashSet<Object> set = new scala.collection.mutable.HashSet<>();
    for (int i = 0; i < n % 20; i++) {
      set.addOne(name(n + 7 * i));
    }
    return set;
  }

  private RddOnBothEngines engines;

  @AfterEach
  void stop() {
    if (engines != null) {
      engines.close();
    }
  }

  private void start(String serializer, String... more) {
    Map<String, String> settings = new java.util.HashMap<>(Map.of("spark.serializer", serializer));
    for (int i = 0; i < more.length; i += 2) {
      settings.put(more[i], more[i + 1]);
    }
    engines = RddOnBothEngines.start(settings);
  }

  /** The records of {@code count} numbers, shuffled without being combined, each map task's in their order. */
  private void assertSameInOrder(boolean serialized, int count, PairFunction<Integer, Object, Object> record) {
    long before = engines.counter(Counter.WRITE_RECORDS_SERIALIZED);
    engines.assertSame(spark -> {
      JavaPairRDD<Object, Object> pairs = engines.numbers(count).coalesce(1).mapToPair(record);
      return pairs.partitionBy(new HashPartitioner(5)).map(RddShapesTest::text).glom().collect().stream()
          .map(String::valueOf).toList();
    });
    assertEquals(serialized, engines.counter(Counter.WRITE_RECORDS_SERIALIZED) > before);
  }

  /** A value and the classes of its parts. */
  private static String text(Object value) {
    if (value != null && value.getClass().isArray()) {
      StringBuilder text = new StringBuilder(value.getClass().getName());
      for (int i = 0; i < Array.getLength(value); i++) {
        text.append(' ').append(text(Array.get(value, i)));
      }
      return text.toString();
    } else if (value instanceof Tuple2<?, ?> pair) {
      return pair.getClass().getName() + "(" + text(pair._1()) + "," + text(pair._2()) + ")";
    } else if (value instanceof Option<?> option && option.isDefined()) {
      return "Some(" + text(option.get()) + ")";
    }
    return value == null ? "null" : value.getClass().getName() + " " + value;
  }

  private static String name(int n) {
    return "name " + n % 100 + (n % 9 == 0 ? "\u0416" : "");
  }

  @VariantsInAll
  @ParameterizedTest
  @ValueSource(strings = {JAVA, KRYO})
  void nestedRecordsOfManyClassesInOnePartition(String serializer) {
    start(serializer);
    assertSameInOrder(false, 6000, n -> new Tuple2<>(n * 7919 % 50, KINDS.get(n % KINDS.size()).apply(n)));
    assertSameInOrder(false, 1000,
        n -> new Tuple2<>(new Tuple3<>(n % 100, name(n), n % 2 == 0), KINDS.get(0).apply(n)));
  }

  @VariantsInAll
  @ParameterizedTest
  @ValueSource(strings = {JAVA, KRYO})
  void ownClassesWithKeysOfManyKinds(String serializer) {
    start(serializer);
    assertSameInOrder(true, 6000, n -> new Tuple2<>(KEYS.get(n % KEYS.size()).apply(n), new Sale(n, name(n))));
    assertSameInOrder(true, 3000, n -> new Tuple2<>(n, new Sale(n, name(n))));
    assertSameInOrder(true, 3000, n -> new Tuple2<>(new Sale(n, name(n)), n));
    assertSameInOrder(true, 3000, n -> new Tuple2<>(n, n < 2000 ? new Some<>(n) : new Some<>(new Sale(n, name(n)))));
  }

  @VariantsInAll
  @ParameterizedTest
  @ValueSource(strings = {JAVA, KRYO})
  void groupsOfOwnClasses(String serializer) {
    start(serializer);
    engines.assertSame(spark -> sorted(engines.numbers(20_000)
        .mapToPair(n -> new Tuple2<>(name(n), new Sale(n, name(n))))
        .groupByKey(7).mapValues(sales -> sorted(StreamSupport.stream(sales.spliterator(), false).toList()).toString())
        .collect()));
    assertTrue(engines.counter(Counter.WRITE_RECORDS_SERIALIZED) > 0);
  }

  @VariantsInAll
  @ParameterizedTest
  @ValueSource(strings = {JAVA, KRYO})
  void nestedKeysAreGroupedAndSorted(String serializer) {
    start(serializer);
    engines.assertSame(spark -> sorted(engines.numbers(20_000)
        .mapToPair(n -> new Tuple2<>(new Tuple2<>(new Tuple2<>(n % 50, name(n)), new Some<>(n % 2)), 1L))
        .reduceByKey(Long::sum, 7).collect()));
    engines.assertSame(spark -> engines.numbers(5000)
        .mapToPair(n -> new Tuple2<>(new BigDecimal(n * 7919 % 5000), new Tuple3<>(n, n, n))).sortByKey(true, 3)
        .collect().stream().map(String::valueOf).toList());
    assertEquals(0, engines.counter(Counter.WRITE_RECORDS_SERIALIZED));
  }

  @VariantsInAll
  @ParameterizedTest
  @ValueSource(strings = {JAVA, KRYO})
  void recordsLongerThanARow(String serializer) {
    start(serializer, "spark.kryoserializer.buffer.max", "128m");
    engines.assertSame(spark -> sorted(engines.numbers(8).mapToPair(n -> new Tuple2<>(n, new Some<>(ints(n * 700_000))))
        .partitionBy(new HashPartitioner(3)).mapValues(some -> java.util.Arrays.hashCode(some.get())).collect()));
    engines.assertSame(spark -> sorted(engines.numbers(8)
        .mapToPair(n -> new Tuple2<>(name(n), new Sale(n, "\u0416 and more ".repeat(n * 200_000))))
        .partitionBy(new HashPartitioner(3)).mapValues(sale -> sale.name.length() + sale.id).collect()));
  }

  private static int[] ints(int count) {
    int[] ints = new int[count];
    for (int i = 0; i < count; i++) {
      ints[i] = i * 31;
    }
    return ints;
  }

  /** Spark's buffers of groups. */
  @VariantsInAll
  @ParameterizedTest
  @ValueSource(strings = {JAVA, KRYO})
  void groupsAreShuffledAgain(String serializer) {
    start(serializer);
    for (ClassTag<?> type : List.of(ClassTag$.MODULE$.Int(), ClassTag$.MODULE$.AnyRef())) {
      engines.assertSame(spark -> {
        JavaPairRDD<Integer, Integer> pairs = engines.numbers(5_000).coalesce(1)
            .mapToPair(n -> new Tuple2<>(n * 7919 % 600, n));
        @SuppressWarnings("unchecked") // As Scala's compiler gives it for pairs of numbers.
        PairRDDFunctions<Integer, Integer> functions = new PairRDDFunctions<>(pairs.rdd(),
            (ClassTag<Integer>) type, (ClassTag<Integer>) type, null);
        return functions.groupByKey(new HashPartitioner(4)).toJavaRDD()
            .mapToPair(group -> new Tuple2<>(group._1() % 5, group._2())).partitionBy(new HashPartitioner(3))
            .map(group -> group._1() + " " + group._2().getClass() + " " + group._2()).collect();
      });
    }
    assertEquals(0, engines.counter(Counter.WRITE_RECORDS_SERIALIZED));
  }

  @Test
  void writablesWithKryo() {
    start(KRYO);
    engines.assertSame(spark -> sorted(engines.numbers(20_000)
        .mapToPair(n -> new Tuple2<>(new Text(name(n)), new IntWritable(n)))
        .groupByKey(7)
        .mapValues(values -> sorted(StreamSupport.stream(values.spliterator(), false).toList()).toString()).collect()));
    assertEquals(0, engines.counter(Counter.WRITE_RECORDS_SERIALIZED));
  }

  @Test
  void classesThatTheSerializerRefusesFailAsOnStock() {
    start(JAVA);
    engines.assertFails("object not serializable (class: org.apache.hadoop.io.Text, value: name 1", spark -> engines
        .numbers(10).mapToPair(n -> new Tuple2<>(n, new Text("name 1"))).partitionBy(new HashPartitioner(3)).collect());
    engines.close();
    start(KRYO, "spark.kryo.registrationRequired", "true");
    engines.assertFails("Class is not registered: org.apache.hadoop.io.Text", spark -> engines
        .numbers(10).mapToPair(n -> new Tuple2<>(n, new Text("name 1"))).partitionBy(new HashPartitioner(3)).count());
  }
}
