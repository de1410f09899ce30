package io.sluice.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.esotericsoftware.kryo.Kryo;
import com.esotericsoftware.kryo.serializers.DefaultSerializers;
import com.esotericsoftware.kryo.serializers.DeflateSerializer;
import io.sluice.spark.UserSerializer.Failing;
import io.sluice.spark.UserSerializer.Point;
import io.sluice.spark.UserSerializer.Relocatable;
import io.sluice.spark.UserSerializer.Stateful;
import io.sluice.spark.metrics.Counter;
import java.io.Serializable;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import org.apache.spark.Aggregator;
import org.apache.spark.HashPartitioner;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.rdd.ShuffledRDD;
import org.apache.spark.serializer.JavaSerializer;
import org.apache.spark.serializer.KryoRegistrator;
import org.apache.spark.serializer.KryoSerializer;
import org.apache.spark.serializer.Serializer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import scala.Function1;
import scala.Function2;
import scala.Tuple2;

/** Serializers that users write, in Java: for one shuffle or for the application. */
@Timeout(180)
class UserSerializerTest {
  private RddOnBothEngines spark;

  static List<Serializer> serializers() {
    return List.of(new Relocatable(), new Stateful());
  }

  @AfterEach
  void stop() {
    spark.close();
  }

  private JavaPairRDD<Point, String> points(int count) {
    return spark.numbers(count).mapToPair(n -> new Tuple2<>(new Point(n % 1000, -n), n % 7 == 0 ? null : "value " + n));
  }

  private List<String> moved(Serializer serializer, int count, int partitions) {
    return RddOnBothEngines.sorted(RddOnBothEngines.shuffled(points(count), new HashPartitioner(partitions))
        .setSerializer(serializer)
        .toJavaRDD().collect());
  }

  private void assertSerialized(long records) {
    assertEquals(records, spark.counter(Counter.WRITE_RECORDS_SERIALIZED));
  }

  @ParameterizedTest
  @MethodSource("serializers")
  void serializerOfAShuffleIsUsed(Serializer serializer) {
    spark = RddOnBothEngines.start(Map.of());
    spark.assertSame(context -> moved(serializer, 40_000, 5));
    assertSerialized(40_000);
  }

  /** More partitions than a task has streams of a serializer whose streams cannot be cut. */
  @VariantsInAll
  @ParameterizedTest
  @MethodSource("serializers")
  void serializerOfAShuffleWithManyPartitionsIsUsed(Serializer serializer) {
    spark = RddOnBothEngines.start(Map.of());
    spark.assertSame(context -> moved(serializer, 20_000, 700));
    assertSerialized(20_000);
  }

  @ParameterizedTest
  @ValueSource(classes = {Relocatable.class, Stateful.class})
  void serializerOfTheApplicationIsUsed(Class<?> serializer) {
    spark = RddOnBothEngines.start(Map.of("spark.serializer", serializer.getName()));
    spark.assertSame(context -> RddOnBothEngines.sorted(points(20_000)
        .mapToPair(record -> new Tuple2<>(new Point(record._1().x, 0), 1L)).reduceByKey(Long::sum, 6).collect()));
    assertSerialized(4 * 1000);
  }

  @VariantsInAll
  @ParameterizedTest
  @MethodSource("serializers")
  void serializerOfASortedShuffleIsUsed(Serializer serializer) {
    spark = RddOnBothEngines.start(Map.of());
    scala.math.Ordering<Point> downwards =
        scala.math.Ordering$.MODULE$.comparatorToOrdering(Comparator.<Point>reverseOrder());
    spark.assertSame(context -> RddOnBothEngines.inOrder(
        RddOnBothEngines.shuffled(points(20_000), new HashPartitioner(3))
            .setSerializer(serializer).setKeyOrdering(downwards)));
    assertSerialized(20_000);
  }

  /** Records that map tasks combine and spill go through the shuffle's serializer twice, once for the spill. */
  @VariantsInAll
  @ParameterizedTest
  @MethodSource("serializers")
  void serializerOfACombiningShuffleThatSpillsIsUsed(Serializer serializer) {
    spark = RddOnBothEngines.start(Map.of("spark.shuffle.spill.numElementsForceSpillThreshold", "1000"));
    Aggregator<Point, String, Long> count = new Aggregator<>(
        (Function1<String, Long> & Serializable) first -> 1L,
        (Function2<Long, String, Long> & Serializable) (sum, next) -> sum + 1,
        (Function2<Long, Long, Long> & Serializable) Long::sum);
    spark.assertSame(context -> {
      ShuffledRDD<Point, String, Long> counted = RddOnBothEngines.shuffledTo(
          points(20_000).mapToPair(record -> new Tuple2<>(new Point(record._1().y % 3000, 0), record._2())),
          new HashPartitioner(4));
      return RddOnBothEngines.sorted(
          counted.setSerializer(serializer).setAggregator(count).setMapSideCombine(true).toJavaRDD().collect());
    });
    assertSerialized(4 * 3000);
  }

  private static List<String> pointsAmongNumbers(RddOnBothEngines spark, Serializer serializer) {
    return RddOnBothEngines.sorted(RddOnBothEngines.shuffled(spark.numbers(20_000)
        .mapToPair(n -> new Tuple2<Object, Object>(n, n % 5000 > 3000 && n % 3 == 0 ? new Point(n, n) : (Object) n)),
        new HashPartitioner(5)).setSerializer(serializer).toJavaRDD().collect());
  }

  /** The stream of a serializer without relocation must be read from its start whatever else the block holds. */
  @ParameterizedTest
  @ValueSource(classes = {JavaSerializer.class, KryoSerializer.class})
  void serializedAndUnserializedRecordsInOneShuffle(Class<? extends Serializer> serializer) {
    spark = RddOnBothEngines.start(Map.of());
    spark.assertSame(context -> pointsAmongNumbers(spark, sparks(serializer)));
    long serialized = spark.counter(Counter.WRITE_RECORDS_SERIALIZED);
    assertTrue(serialized > 4 * 1900 && serialized < 4 * 2000, () -> "serialized: " + serialized);
  }

  private static Serializer sparks(Class<? extends Serializer> serializer) {
    SparkConf conf = SparkEnv.get().conf();
    return serializer == JavaSerializer.class ? new JavaSerializer(conf) : new KryoSerializer(conf);
  }

  /** A subclass of Spark's Kryo serializer counts as a user's serializer, because it may do more. */
  public static final class AuditingKryo extends KryoSerializer {
    private static final long serialVersionUID = 1L;

    public AuditingKryo(SparkConf conf) {
      super(conf);
    }
  }

  /** A user's serializer may encrypt or audit, so it gets records of numbers and text too, which need none. */
  @ParameterizedTest
  @MethodSource("serializers")
  void serializerOfAShuffleGetsEveryRecord(Serializer serializer) {
    spark = RddOnBothEngines.start(Map.of());
    spark.assertSame(context -> pointsAmongNumbers(spark, serializer));
    assertSerialized(20_000);
    spark.assertSame(context -> RddOnBothEngines.sorted(RddOnBothEngines.shuffled(
        spark.numbers(20_000).mapToPair(n -> new Tuple2<>(n, "text " + n)), new HashPartitioner(5))
        .setSerializer(serializer).toJavaRDD().collect()));
    assertSerialized(40_000);
  }

  @VariantsInAll
  @ParameterizedTest
  @ValueSource(classes = {Relocatable.class, Stateful.class, AuditingKryo.class})
  void serializerOfTheApplicationGetsEveryRecord(Class<?> serializer) {
    spark = RddOnBothEngines.start(Map.of("spark.serializer", serializer.getName()));
    spark.assertSame(context -> RddOnBothEngines.sorted(
        spark.numbers(20_000).mapToPair(n -> new Tuple2<>(n % 1000, 1L)).reduceByKey(Long::sum, 6).collect()));
    assertSerialized(4 * 1000);
    spark.assertSame(context -> RddOnBothEngines.sorted(
        spark.numbers(20_000).mapToPair(n -> new Tuple2<>("key " + n, n)).sortByKey(false, 3).collect()));
    assertSerialized(4 * 1000 + 20_000);
  }

  /** Gives Kryo a serializer of its own for text: it compresses. */
  public static final class TextRegistrator implements KryoRegistrator {
    @Override
    public void registerClasses(Kryo kryo) {
      kryo.register(String.class, new DeflateSerializer(new DefaultSerializers.StringSerializer()));
    }
  }

  /** The application has no registrator, the serializer of the shuffle has. */
  @Test
  void registratorOfAShufflesSerializerIsUsed() {
    spark = RddOnBothEngines.start(Map.of());
    spark.assertSame(context -> RddOnBothEngines.sorted(RddOnBothEngines.shuffled(
        spark.numbers(20_000).mapToPair(n -> new Tuple2<>(n, "text " + n)), new HashPartitioner(5))
        .setSerializer(new KryoSerializer(
            SparkEnv.get().conf().clone().set("spark.kryo.registrator", TextRegistrator.class.getName())))
        .toJavaRDD().collect()));
    assertSerialized(20_000);
  }

  /** The application has one, the serializer of the shuffle has none. */
  @Test
  void registratorOfTheApplicationIsNotThatOfAShufflesSerializer() {
    spark = RddOnBothEngines.start(Map.of("spark.kryo.registrator", TextRegistrator.class.getName()));
    spark.assertSame(context -> RddOnBothEngines.sorted(RddOnBothEngines.shuffled(
        spark.numbers(20_000).mapToPair(n -> new Tuple2<>(n, "text " + n)), new HashPartitioner(5))
        .setSerializer(new KryoSerializer(SparkEnv.get().conf().clone().remove("spark.kryo.registrator")))
        .toJavaRDD().collect()));
    assertSerialized(0);
  }

  @ParameterizedTest
  @CsvSource({"true, thirteen cannot be read", "false, thirteen cannot be written"})
  void anExceptionOfTheSerializerFailsAsOnStock(boolean whileReading, String message) {
    spark = RddOnBothEngines.start(Map.of());
    spark.assertFails(message, context -> moved(new Failing(whileReading), 20_000, 5));
  }
}
