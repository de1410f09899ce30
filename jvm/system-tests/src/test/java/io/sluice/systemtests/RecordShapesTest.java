package io.sluice.systemtests;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.Serializable;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.Text;
import org.apache.spark.HashPartitioner;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import scala.Option;
import scala.Some;
import scala.Tuple2;
import scala.Tuple3;
import scala.collection.immutable.$colon$colon;
import scala.collection.immutable.Nil$;

/** Jobs on records of a job's own classes, nested tuples, options, arrays, sequences and writables: stock's results. */
@Tag("deep")
class RecordShapesTest {
  private static final String JAVA = "org.apache.spark.serializer.JavaSerializer";
  private static final String KRYO = "org.apache.spark.serializer.KryoSerializer";
  private static final int RECORDS = 20_000;
  private static final int SLICES = 4;
  private static final int PARTITIONS = 6;

  /** A job: its result, one text for each record. */
  private interface Job {
    List<String> run(JavaSparkContext spark);
  }

  /** What a case class of a job is. */
  static final class Sale implements Serializable {
    private static final long serialVersionUID = 1L;
    private final int id;
    private final String name;
    private final double price;

    Sale(int id, String name, double price) {
      this.id = id;
      this.name = name;
      this.price = price;
    }

    @Override
    public String toString() {
      return id + name + price;
    }
  }

  private static List<String> run(Engine engine, String serializer, Job... jobs) {
    String master = engine == Engine.STOCK ? SparkApplication.LOCAL : SparkApplication.CLUSTER;
    try (SparkApplication application = SparkApplication.on(engine).master(master).set("spark.serializer", serializer)
        .start()) {
      List<String> results = new ArrayList<>();
      for (Job job : jobs) {
        results.addAll(job.run(application.context()));
      }
      // Executors answer the survey with records of Java, which Kryo cannot write.
      if (engine.isSluice() && serializer.equals(JAVA)) {
        NativeMemory.assertAllReturnedBy(application);
      }
      return results;
    }
  }

  private static void assertSame(String serializer, Job... jobs) {
    assertEquals(run(Engine.STOCK, serializer, jobs), run(Engine.UNDER_TEST, serializer, jobs));
  }

  private static JavaRDD<Integer> numbers(JavaSparkContext spark) {
    return spark.parallelize(IntStream.range(0, RECORDS).boxed().collect(Collectors.toList()), SLICES);
  }

  private static String name(int n) {
    return "name " + n % 500 + (n % 7 == 0 ? "\u0416" : "");
  }

  private static List<String> sorted(List<?> records) {
    return records.stream().map(String::valueOf).sorted().collect(Collectors.toList());
  }

  /** Values come in the order of map outputs, which is any; sorted they are one text. */
  private static String text(Iterable<?> values) {
    List<String> texts = new ArrayList<>();
    values.forEach(value -> texts.add(String.valueOf(value)));
    Collections.sort(texts);
    return texts.toString();
  }

  private static List<String> groupsOfOwnClasses(JavaSparkContext spark) {
    return sorted(numbers(spark).mapToPair(n -> new Tuple2<>(n % 700, new Sale(n, name(n), n / 3.0)))
        .groupByKey(PARTITIONS).mapValues(RecordShapesTest::text).collect());
  }

  private static List<String> ownClassesAmongOthers(JavaSparkContext spark) {
    return sorted(numbers(spark)
        .mapToPair(n -> new Tuple2<>(name(n), n % 900 < 850 ? (Object) new Some<>(n) : new Sale(n, name(n), n)))
        .partitionBy(new HashPartitioner(PARTITIONS)).mapValues(String::valueOf).collect());
  }

  private static List<String> nestedTuples(JavaSparkContext spark) {
    return sorted(numbers(spark)
        .mapToPair(n -> new Tuple2<>(new Tuple3<>(n % 50, name(n % 20), n % 2 == 0),
            new Tuple2<>(new Tuple2<>(1L, n / 4.0), new Some<>(n))))
        .reduceByKey((a, b) -> new Tuple2<>(new Tuple2<>(a._1()._1() + b._1()._1(), a._1()._2() + b._1()._2()),
            new Some<>(Math.max(a._2().get(), b._2().get()))), PARTITIONS)
        .collect());
  }

  private static List<String> fullOuterJoin(JavaSparkContext spark) {
    return sorted(numbers(spark).mapToPair(n -> new Tuple2<>(n, name(n)))
        .fullOuterJoin(numbers(spark).mapToPair(n -> new Tuple2<>(2 * n, new BigDecimal(n))), PARTITIONS)
        .mapToPair(joined -> new Tuple2<>(joined._1() % 1000, new Tuple2<>(option(joined._2()._1()),
            option(joined._2()._2()))))
        .groupByKey(PARTITIONS).mapValues(RecordShapesTest::text).collect());
  }

  private static Option<Object> option(org.apache.spark.api.java.Optional<?> value) {
    return Option.apply(value.isPresent() ? value.get() : null);
  }

  private static List<String> arrays(JavaSparkContext spark) {
    return sorted(
        numbers(spark).mapToPair(n -> new Tuple2<>(n, new Tuple2<>(new int[] {n, -n}, new String[] {name(n)})))
            .partitionBy(new HashPartitioner(PARTITIONS))
            .mapValues(pair -> Arrays.toString(pair._1()) + Arrays.toString(pair._2())).collect());
  }

  private static List<String> sequences(JavaSparkContext spark) {
    return sorted(numbers(spark).mapToPair(n -> new Tuple2<>(n, sequence(n)))
        .partitionBy(new HashPartitioner(PARTITIONS)).mapValues(value -> value.getClass() + " " + value).collect());
  }

  private static Object sequence(int n) {
    scala.collection.immutable.List<Object> list = new $colon$colon<>(n, new $colon$colon<>(name(n), nil()));
    return n % 4 == 0 ? list : n % 4 == 1 ? list.toVector() : n % 4 == 2 ? list.toBuffer() : nil();
  }

  @SuppressWarnings("unchecked") // An empty list has elements of every type.
  private static <T> scala.collection.immutable.List<T> nil() {
    return (scala.collection.immutable.List<T>) (scala.collection.immutable.List<?>) Nil$.MODULE$;
  }

  private static List<String> texts(JavaSparkContext spark) {
    return sorted(numbers(spark).mapToPair(n -> new Tuple2<>(new Text(name(n)), new IntWritable(n)))
        .groupByKey(PARTITIONS).mapToPair(group -> new Tuple2<>(group._1().toString(), text(group._2()))).collect());
  }

  @VariantsInAll
  @ParameterizedTest
  @ValueSource(strings = {JAVA, KRYO})
  void recordsAreStocks(String serializer) {
    assertSame(serializer, RecordShapesTest::groupsOfOwnClasses, RecordShapesTest::ownClassesAmongOthers,
        RecordShapesTest::nestedTuples, RecordShapesTest::fullOuterJoin, RecordShapesTest::arrays,
        RecordShapesTest::sequences);
  }

  @InAll
  @Test
  void writablesAreStocks() {
    assertSame(KRYO, RecordShapesTest::texts);
  }
}
