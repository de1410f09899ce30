package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.count;
import static org.apache.spark.sql.functions.sum;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.sluice.spark.metrics.Counter;
import io.sluice.spark.policy.FallbackReason;
import java.io.Serializable;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;
import java.util.stream.StreamSupport;
import org.apache.logging.log4j.Level;
import org.apache.spark.Aggregator;
import org.apache.spark.HashPartitioner;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.rdd.ShuffledRDD;
import org.apache.spark.shuffle.sort.io.LocalDiskShuffleDataIO;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.UnsafeRowSerializer;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import scala.Function1;
import scala.Function2;
import scala.Tuple2;
import scala.math.Ordering;
import scala.reflect.ClassTag;

import scala.reflect.ClassTag$;

/**
 * Shuffles that Sluice does not support use Spark's own shuffle, give the right result, and are counted and logged
 * once; wrong settings stop the application at its start.
 */
class FallbackTest {
  private static final Query QUERY =
      Query.moving("all types", spark -> Tables.allTypes(spark, 3000, 3), rows -> rows.repartition(7, col("id")));

  private static final Map<Integer, Integer> SUMS = Map.of(0, 12, 1, 9);
  private static final ClassTag<Object> ANY = ClassTag$.MODULE$.apply(Object.class);

  private static Fingerprint expected;

  @BeforeAll
  static void reference() {
    expected = Query.onStock(List.of(QUERY)).get(QUERY.name());
  }

  /** Settings that make every shuffle fall back, and a word of the reason that the log gives. */
  static List<Arguments> fallbacks() {
    return List.of(
        Arguments.of(Map.of("spark.sluice.enabled", "false"), "spark.sluice.enabled is false", Level.INFO),
        Arguments.of(Map.of("spark.io.encryption.enabled", "true", "spark.shuffle.useOldFetchProtocol", "true"),
            "encryption", Level.WARN),
        Arguments.of(Map.of("spark.io.compression.codec", "lzf"), "spark.io.compression.codec", Level.WARN),
        Arguments.of(Map.of("spark.shuffle.sort.io.plugin.class", OwnDataIo.class.getName()),
            "spark.shuffle.sort.io.plugin.class", Level.WARN));
  }

  /** A user's plugin for shuffle files: Spark's under another name. */
  public static final class OwnDataIo extends LocalDiskShuffleDataIO {
    public OwnDataIo(SparkConf conf) {
      super(conf);
    }
  }

  @ParameterizedTest
  @MethodSource("fallbacks")
  void fallbacksGiveStocksRowsAndAreCountedAndLoggedOnce(Map<String, String> settings, String word, Level level) {
    SparkApplication.Builder builder = SparkApplication.on(Engine.UNDER_TEST).setAll(settings);
    try (LogCapture log = LogCapture.open(); SparkApplication application = builder.start()) {
      assertEquals(expected, QUERY.run(application.session()));
      assertEquals(expected, QUERY.run(application.session()));
      assertEquals(SUMS, sums(application));
      if (Engine.writesFrames()) {
        assertEquals(3, ProcessCounters.here(Counter.SHUFFLES_STOCK));
        assertEquals(0, ProcessCounters.here(Counter.SHUFFLES_ROWS));
        assertEquals(0, ProcessCounters.here(Counter.SHUFFLES_RECORDS));
        assertEquals(3, countedByItsReason(word));
        assertEquals(1, log.messages(Level.INFO, word).size(), () -> "logged: " + log.messages(Level.INFO, ""));
        assertEquals(level == Level.WARN ? 1 : 0, log.messages(Level.WARN, word).size());
      }
    }
  }

  private static Map<Integer, Integer> sums(SparkApplication application) {
    return new TreeMap<>(application.context().parallelize(List.of(1, 2, 3, 4, 5, 6), 3)
        .mapToPair(n -> new Tuple2<>(n % 2, n)).reduceByKey(Integer::sum, 2).collectAsMap());
  }

  /** Only a vendor's Spark may know others than Sluice's; this one refuses the job, and so it does with Sluice. */
  @Test
  void aChecksumAlgorithmThatSparkDoesNotKnowFailsAsOnStock() {
    assumeSluice();
    Throwable stocks = failureWithChecksums(Engine.STOCK, "XXH3");
    Throwable sluices = failureWithChecksums(Engine.UNDER_TEST, "XXH3");
    assertTrue(chain(stocks).contains("XXH3"), chain(stocks));
    assertTrue(chain(sluices).contains("XXH3"), chain(sluices));
  }

  private static Throwable failureWithChecksums(Engine engine, String algorithm) {
    SparkApplication.Builder builder = SparkApplication.on(engine).set("spark.shuffle.checksum.algorithm", algorithm);
    return assertThrows(Throwable.class, () -> {
      try (SparkApplication application = builder.start()) {
        sums(application);
      }
    });
  }

  /** SQL's own exchanges have neither an aggregator nor an order; a library's of SQL rows may. */
  @Test
  void shufflesOfRowsThatAreAggregatedOrSortedAreSparks() {
    try (SparkApplication application = SparkApplication.on(Engine.UNDER_TEST).start()) {
      ShuffledRDD<Object, Object, Object> sums = shuffledRows(application).setAggregator(new Aggregator<>(
          (Function1<Object, Object> & Serializable) row -> ((InternalRow) row).getLong(0),
          (Function2<Object, Object, Object> & Serializable) (sum, row) -> (long) sum + ((InternalRow) row).getLong(0),
          (Function2<Object, Object, Object> & Serializable) (one, other) -> (long) one + (long) other));
      assertEquals(499_500L, JavaPairRDD.fromRDD(sums, ANY, ANY).values().reduce((a, b) -> (long) a + (long) b));
      Ordering<Object> order = (Ordering<Object> & Serializable) (a, b) -> Integer.compare((int) a, (int) b);
      assertEquals(1_000, shuffledRows(application).setKeyOrdering(order).count());
      if (Engine.writesFrames()) {
        assertEquals(1, countedByItsReason("it has an aggregator"));
        assertEquals(1, countedByItsReason("it has a key ordering"));
        assertEquals(2, ProcessCounters.here(Counter.SHUFFLES_STOCK));
      }
    }
  }

  /** The rows 0 to 999, by their remainder. */
  private static ShuffledRDD<Object, Object, Object> shuffledRows(SparkApplication application) {
    JavaRDD<Tuple2<Object, Object>> keyed = Plans.rows(application.session().range(0, 1_000, 1, 3).toDF())
        .map(row -> new Tuple2<>((int) (row.getLong(0) % 5), row.copy()));
    return new ShuffledRDD<Object, Object, Object>(keyed.rdd(), new HashPartitioner(3), ANY, ANY, ANY)
        .setSerializer(new UnsafeRowSerializer(1, null));
  }

  /** Spark's metric of the one reason whose text has the word. */
  private static long countedByItsReason(String word) {
    String metric = Arrays.stream(FallbackReason.values()).filter(reason -> reason.text().contains(word)).findFirst()
        .orElseThrow().metric();
    return (Long) SparkEnv.get().metricsSystem().getSourcesByName("plugin.io.sluice.spark.SluicePlugin").apply(0)
        .metricRegistry().getGauges().get(metric).getValue();
  }

  @Test
  void aMissingNativeLibraryLogsOneWarning() {
    assumeSluice();
    try (LogCapture log = LogCapture.open();
        SparkApplication application =
            SparkApplication.on(Engine.UNDER_TEST).set("spark.sluice.native.library", "/nonexistent").start()) {
      assertEquals(expected, QUERY.run(application.session()));
      assertEquals(1, log.messages(Level.WARN, "").size(), () -> "logged: " + log.messages(Level.WARN, ""));
    }
  }

  /** Elsewhere than in Spark's tests push-based shuffle needs YARN. */
  @Test
  void pushBasedShuffleIsLeftToSpark() {
    List<Object> stocks;
    try (SparkApplication application = withPushBasedShuffle(Engine.STOCK)) {
      stocks = rowsAndGroups(application);
    }
    try (SparkApplication application = withPushBasedShuffle(Engine.UNDER_TEST)) {
      assertEquals(stocks, rowsAndGroups(application));
      if (Engine.writesFrames()) {
        // The two sides of the join, the order, and the RDD's.
        assertFormat(0, 4);
        assertEquals(4, countedByItsReason("push-based shuffle"));
        assertEquals(0, ProcessCounters.here(Counter.SHUFFLES_RECORDS));
      }
    }
  }

  private static SparkApplication withPushBasedShuffle(Engine engine) {
    return SparkApplication.on(engine)
        .set("spark.shuffle.push.enabled", "true")
        .set("spark.testing", "true")
        .set("spark.serializer", "org.apache.spark.serializer.KryoSerializer")
        .start();
  }

  /** The rows of a SQL query, in their order, and the groups of an RDD. */
  private static List<Object> rowsAndGroups(SparkApplication application) {
    Dataset<Row> events = Tables.events(application.session(), 3_000, 3);
    Dataset<Row> totals = events.groupBy("k").agg(sum("y").as("total"), count("id").as("n"));
    List<Row> rows = events.join(totals, "k").select("id", "total", "n", "name", "x").orderBy("id").collectAsList();
    assertEquals(3_000, rows.size());
    Map<Long, List<Integer>> groups = new TreeMap<>();
    application.context().parallelize(IntStream.range(0, 1_000).boxed().toList(), 3).groupBy(n -> n * 31L % 7)
        .collectAsMap().forEach((key, numbers) -> groups.put(key, sorted(numbers)));
    assertEquals(7, groups.size());
    return List.of(rows, groups);
  }

  private static List<Integer> sorted(Iterable<Integer> numbers) {
    return StreamSupport.stream(numbers.spliterator(), false).sorted().toList();
  }

  @Test
  void pushBasedShuffleThatSparkWouldNotUseIsNoReason() {
    try (SparkApplication application =
        SparkApplication.on(Engine.UNDER_TEST).set("spark.shuffle.push.enabled", "true").start()) {
      assertEquals(expected, QUERY.run(application.session()));
      assertFormat(1, 0);
    }
  }

  @Test
  void shufflesWithRowChecksumsAreNotLeftToSpark() {
    try (SparkApplication application = SparkApplication.on(Engine.UNDER_TEST)
        .set("spark.sql.shuffle.orderIndependentChecksum.enabled", "true")
        .start()) {
      assertEquals(expected, QUERY.run(application.session()));
      assertFormat(1, 0);
    }
  }

  private static void assertFormat(long shufflesInSluicesFormat, long shufflesOnStock) {
    if (Engine.writesFrames()) {
      assertEquals(shufflesInSluicesFormat, ProcessCounters.here(Counter.SHUFFLES_ROWS));
      assertEquals(shufflesOnStock, ProcessCounters.here(Counter.SHUFFLES_STOCK));
    }
  }

  @Test
  void aSessionDisablesAndEnablesSluice() {
    try (SparkApplication application = SparkApplication.on(Engine.UNDER_TEST).start()) {
      SparkSession spark = application.session();
      assertEquals(expected, QUERY.run(spark));
      spark.conf().set("spark.sluice.enabled", "false");
      assertEquals(expected, QUERY.run(spark));
      assertEquals(expected, QUERY.run(spark.newSession()));
      spark.conf().set("spark.sluice.enabled", "true");
      assertEquals(expected, QUERY.run(spark));
      if (Engine.writesFrames()) {
        assertEquals(1, ProcessCounters.here(Counter.SHUFFLES_STOCK));
        assertEquals(3, ProcessCounters.here(Counter.SHUFFLES_ROWS));
      }
    }
  }

  @Test
  void shufflesWorkWithoutThePlugin() {
    try (SparkApplication application = SparkApplication.on(Engine.UNDER_TEST).without("spark.plugins").start()) {
      assertEquals(expected, QUERY.run(application.session()));
      if (Engine.writesFrames()) {
        assertEquals(1, ProcessCounters.here(Counter.SHUFFLES_ROWS));
      }
    }
  }

  @Test
  void withRecordsDisabledShufflesOfRddsFallBack() {
    try (SparkApplication application =
        SparkApplication.on(Engine.UNDER_TEST).set("spark.sluice.records.enabled", "false").start()) {
      long groups = application.context().parallelize(List.of(1, 2, 3, 4, 5, 6), 3).groupBy(n -> n % 2).count();
      assertEquals(2, groups);
      assertEquals(expected, QUERY.run(application.session()));
      if (Engine.writesFrames()) {
        assertEquals(1, ProcessCounters.here(Counter.SHUFFLES_STOCK));
        assertEquals(0, ProcessCounters.here(Counter.SHUFFLES_RECORDS));
        assertTrue(ProcessCounters.here(Counter.SHUFFLES_ROWS) > 0);
      }
    }
  }

  @Test
  void shufflesOfRddsUseTheRecordFormat() {
    try (SparkApplication application = SparkApplication.on(Engine.UNDER_TEST).start()) {
      long groups = application.context().parallelize(List.of(1, 2, 3, 4, 5, 6), 3).groupBy(n -> n % 2).count();
      assertEquals(2, groups);
      if (Engine.writesFrames()) {
        assertEquals(0, ProcessCounters.here(Counter.SHUFFLES_STOCK));
        assertEquals(1, ProcessCounters.here(Counter.SHUFFLES_RECORDS));
      }
    }
  }

  /** A wrong key or value of a setting, and the words that the message must have. */
  static List<Arguments> refusals() {
    return List.of(
        Arguments.of("spark.sluice.reader.thread", "4", "spark.sluice.reader.thread"),
        Arguments.of("spark.sluice.writer.pageBytes", "1", "64"),
        Arguments.of("spark.sluice.writer.threads", "many", "many"),
        Arguments.of("spark.sluice.mode", "FAST", "FAST"));
  }

  @ParameterizedTest
  @MethodSource("refusals")
  void anInvalidSettingStopsTheApplication(String key, String value, String word) {
    assumeSluice();
    for (boolean plugin : new boolean[] {true, false}) {
      SparkApplication.Builder builder = SparkApplication.on(Engine.UNDER_TEST).set(key, value);
      Throwable failure =
          assertThrows(Throwable.class, () -> start(plugin ? builder : builder.without("spark.plugins")));
      String text = chain(failure);
      assertTrue(text.contains(key) && text.contains(word), text);
      assertFalse(SparkSession.getDefaultSession().isDefined());
      assertTrue(SparkEnv.get() == null || SparkEnv.get().isStopped());
    }
  }

  private static void start(SparkApplication.Builder builder) {
    builder.start().close();
  }

  private static String chain(Throwable failure) {
    StringBuilder text = new StringBuilder();
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      text.append(cause).append('\n');
    }
    return text.toString();
  }

  private static void assumeSluice() {
    assumeTrue(Engine.UNDER_TEST.isSluice(), "the stock manager has no settings of Sluice's");
  }
}
