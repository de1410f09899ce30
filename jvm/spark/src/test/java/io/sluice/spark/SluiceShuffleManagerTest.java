package io.sluice.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.executor.ExecutorGauge;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.policy.FallbackReason;
import io.sluice.spark.policy.RecordFormat;
import io.sluice.spark.policy.SluiceShuffleHandle;
import io.sluice.spark.versions.JarBuild;
import java.io.ObjectStreamClass;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.spark.HashPartitioner;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.shuffle.ShuffleHandle;
import org.apache.spark.shuffle.ShuffleManager;
import org.apache.spark.shuffle.sort.BypassMergeSortShuffleHandle;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.functions;
import org.apache.spark.storage.BlockManager;
import org.apache.spark.util.Utils;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import scala.Tuple2;

/** The manager as Spark makes it and as users configure it. */
@Timeout(120)
class SluiceShuffleManagerTest {
  private LocalSpark spark;

  @AfterEach
  void stop() {
    if (spark != null) {
      spark.close();
    }
  }

  private long shuffledCount() {
    return spark.session().range(1000).repartition(3, functions.col("id")).groupBy("id").count().count();
  }

  private static String messages(Throwable failure) {
    return Stream.iterate(failure, cause -> cause != null, Throwable::getCause).map(Throwable::toString)
        .reduce("", (a, b) -> a + "\n" + b);
  }

  @Test
  void sparkInstantiatesTheManager() {
    ShuffleManager manager = Utils.instantiateSerializerOrShuffleManager(
        SluiceShuffleManager.class.getName(), new SparkConf(false), true);
    assertEquals(SluiceShuffleManager.class, manager.getClass());
    manager.stop();
  }

  @Test
  void unknownSettingStopsTheApplication() {
    Throwable failure =
        assertThrows(Throwable.class, () -> LocalSpark.start(Map.of("spark.sluice.writer.thread", "3")));
    assertTrue(messages(failure).contains("unknown settings [spark.sluice.writer.thread (did you mean "
        + "spark.sluice.writer.threads?)]: correct or remove them. "), messages(failure));
  }

  @Test
  void valueOutOfRangeStopsTheApplication() {
    Throwable failure =
        assertThrows(Throwable.class, () -> LocalSpark.start(Map.of("spark.sluice.writer.threads", "-3")));
    assertTrue(
        messages(failure).contains("spark.sluice.writer.threads = \"-3\" is not valid: it must be auto, or a number "
            + "from 0 to 256"),
        messages(failure));
  }

  @Test
  void shufflesWorkWithoutThePlugin() {
    spark = LocalSpark.start(Map.of("spark.plugins", ""));
    assertEquals(1000, shuffledCount());
    assertTrue(spark.counter(Counter.SHUFFLES_ROWS) > 0);
  }

  @Test
  void withoutTheNativeLibraryShufflesRunInJava() {
    spark = LocalSpark.start(Map.of("spark.sluice.native.library", "/absent/libsluice_jni.so"));
    assertEquals(1000, shuffledCount());
    assertTrue(spark.counter(Counter.SHUFFLES_ROWS) > 0);
    assertEquals(0, spark.counter(Counter.SHUFFLES_STOCK));
    assertEquals(1, spark.counter(Counter.EXECUTORS_WITHOUT_NATIVE_LIBRARY));
    assertTrue(spark.counter(Counter.WRITE_BLOCK_BYTES) > spark.counter(Counter.WRITE_ROW_BYTES), "plain frames");
    assertFalse(spark.manager().nativeLibrary().available());
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aProcessThatEncryptsOtherwiseThanTheDriverReadsAndWritesNothing(boolean sealed) {
    spark = LocalSpark.start(Map.of("spark.io.encryption.enabled", Boolean.toString(!sealed)));
    ShuffleHandle handle =
        new SluiceShuffleHandle<>(9000, null, RecordFormat.SQL_ROWS, sealed, JarBuild.ofThisProcess(), null, null);
    String refused = "the driver registered shuffle 9000 with spark.io.encryption.enabled=" + sealed
        + ", but this executor runs with " + !sealed;
    String write =
        assertThrows(SluiceException.class, () -> spark.manager().getWriter(handle, 0, null, null)).getMessage();
    assertTrue(write.contains(refused), write);
    String read = assertThrows(SluiceException.class,
        () -> spark.manager().getReader(handle, 0, 1, 0, 1, null, null)).getMessage();
    assertTrue(read.contains(refused), read);
  }

  @Test
  void aProcessWithOtherClassesThanTheDriverReadsAndWritesNothing() {
    spark = LocalSpark.start(Map.of());
    ShuffleHandle handle = new SluiceShuffleHandle<>(
        9000, null, RecordFormat.SQL_ROWS, false, new JarBuild("9.9.9", "0123456789abcdef"), null, null);
    String refused = "Executor driver has " + JarBuild.ofThisProcess()
        + " and the driver, which registered shuffle 9000, has Sluice 9.9.9 (classes 0123456789abcdef)";
    String write =
        assertThrows(SluiceException.class, () -> spark.manager().getWriter(handle, 0, null, null)).getMessage();
    assertTrue(write.contains(refused), write);
    String read = assertThrows(SluiceException.class,
        () -> spark.manager().getReader(handle, 0, 1, 0, 1, null, null)).getMessage();
    assertTrue(read.contains(refused), read);
  }

  @Test
  void versionsWithoutEncryptionCannotReadAHandle() {
    assertNotEquals(1, ObjectStreamClass.lookup(SluiceShuffleHandle.class).getSerialVersionUID());
  }

  @Test
  void inLocalModeThereIsNoTransport() {
    spark = LocalSpark.start(Map.of("spark.sluice.transport", "ucx"));
    assertEquals(1000, shuffledCount());
    assertTrue(spark.manager().transport().isEmpty());
    assertTrue(spark.counter(Counter.SHUFFLES_ROWS) > 0);
  }

  @Test
  void modeRdmaUsesSparksWriters() {
    spark = LocalSpark.start(Map.of("spark.sluice.mode", "RDMA"));
    assertEquals(1000, shuffledCount());
    assertEquals(0, spark.counter(Counter.SHUFFLES_ROWS));
    assertTrue(spark.counter(Counter.SHUFFLES_SPARK_CODEC) > 0);
    assertEquals(0, spark.counter(Counter.SHUFFLES_STOCK), "what was asked for is no fallback");
  }

  @Test
  void aSessionEnablesWhatTheApplicationDisabled() {
    spark = LocalSpark.start(Map.of("spark.sluice.enabled", "false"));
    shuffledCount();
    assertEquals(0, spark.counter(Counter.SHUFFLES_ROWS));
    spark.session().conf().set("spark.sluice.enabled", "true");
    shuffledCount();
    assertTrue(spark.counter(Counter.SHUFFLES_ROWS) > 0);
  }

  private ShuffleHandle registered(int shuffleId, JavaPairRDD<Integer, Integer> shuffled) {
    ShuffleDependency<?, ?, ?> dependency = (ShuffleDependency<?, ?, ?>) shuffled.rdd().dependencies().head();
    return spark.manager().registerShuffle(shuffleId, dependency);
  }

  /** Handle, writer and reader are Spark's own, whatever else is set; a shuffle made before is Sluice's to the end. */
  @ParameterizedTest
  @ValueSource(strings = {"MULTITHREADED", "RDMA", "CACHE_ONLY"})
  void aDisabledSessionsShufflesAreSparksAltogether(String mode) {
    spark = LocalSpark.start(Map.of("spark.sluice.mode", mode, "spark.sluice.sql.cleanup", "all"));
    JavaSparkContext context = JavaSparkContext.fromSparkContext(spark.session().sparkContext());
    JavaPairRDD<Integer, Integer> pairs =
        context.parallelizePairs(List.of(new Tuple2<>(1, 2), new Tuple2<>(3, 4), new Tuple2<>(1, 5)), 2);
    JavaPairRDD<Integer, Iterable<Integer>> before = pairs.groupByKey(3);
    assertEquals(2, before.count());
    spark.session().conf().set("spark.sluice.enabled", "false");
    Class<?> sparks = registered(9001, pairs.partitionBy(new HashPartitioner(3))).getClass();
    assertEquals(BypassMergeSortShuffleHandle.class, sparks);
    long written = spark.counter(Counter.WRITE_MAP_OUTPUTS) + spark.counter(Counter.SHUFFLES_SPARK_CODEC);
    assertEquals(2, pairs.groupByKey(3).count());
    assertEquals(written, spark.counter(Counter.WRITE_MAP_OUTPUTS) + spark.counter(Counter.SHUFFLES_SPARK_CODEC));
    assertEquals(2, before.count(), "made before, and still readable");
    spark.session().conf().set("spark.sluice.enabled", "true");
    assertNotEquals(sparks, registered(9003, pairs.partitionBy(new HashPartitioner(3))).getClass());
    assertEquals(2, pairs.groupByKey(4).count());
    assertTrue(spark.counter(Counter.WRITE_MAP_OUTPUTS) + spark.counter(Counter.SHUFFLES_SPARK_CODEC) > written);
  }

  @Test
  void shufflesAreRemovedForASessionAndAProgramThoughTheApplicationStartedWithout() throws Exception {
    spark = LocalSpark.start(Map.of("spark.cleaner.referenceTracking", "false", "spark.sluice.sql.cleanup", "off"));
    shuffledCount();
    waitForListeners();
    assertFalse(ShuffleFiles.named("shuffle_").isEmpty(), "off removes nothing");
    ShuffleFiles.named("shuffle_").forEach(
        file -> spark.manager().unregisterShuffle(Integer.parseInt(file.getFileName().toString().split("_")[1])));
    spark.session().conf().set("spark.sluice.sql.cleanup", "unreferenced");
    shuffledCount();
    waitForListeners();
    assertEquals(List.of(), ShuffleFiles.named("shuffle_"));
    assertTrue(spark.counter(Counter.CLEANUP_SHUFFLES) > 0);
    spark.session().conf().unset("spark.sluice.sql.cleanup");
    Dataset<Row> kept = spark.session().range(100).groupBy(functions.col("id").mod(7)).count();
    assertEquals(7, kept.collectAsList().size());
    assertEquals(1, SluiceShuffles.remove(kept));
    assertEquals(List.of(), ShuffleFiles.named("shuffle_"));
  }

  private void waitForListeners() throws Exception {
    spark.session().sparkContext().listenerBus().waitUntilEmpty();
  }

  /** There a map output that is computed again has the old one's id. */
  @Test
  void nothingIsRemovedEarlyWithTheOldFetchProtocol() throws Exception {
    spark = LocalSpark.start(
        Map.of("spark.shuffle.useOldFetchProtocol", "true", "spark.cleaner.referenceTracking", "false"));
    spark.session().conf().set("spark.sluice.sql.cleanup", "all");
    Dataset<Row> data = spark.session().range(100).groupBy(functions.col("id").mod(7)).count();
    assertEquals(7, data.collectAsList().size());
    waitForListeners();
    assertFalse(ShuffleFiles.named("shuffle_").isEmpty());
    assertEquals(0, spark.counter(Counter.CLEANUP_SHUFFLES));
    SluiceException refused = assertThrows(SluiceException.class, () -> SluiceShuffles.remove(data));
    assertTrue(refused.getMessage().contains("useOldFetchProtocol"), refused::getMessage);
  }

  @Test
  void countersAreSparkMetrics() {
    spark = LocalSpark.start(Map.of("spark.app.id", "app-metrics"));
    shuffledCount();
    var sources = org.apache.spark.SparkEnv.get().metricsSystem()
        .getSourcesByName("plugin." + SluicePlugin.class.getName());
    assertTrue(sources.size() > 0, "no source is registered");
    var gauges = sources.apply(0).metricRegistry().getGauges();
    assertEquals(Counter.values().length + FallbackReason.values().length + ExecutorGauge.values().length,
        gauges.size());
    assertEquals(spark.counter(Counter.SHUFFLES_ROWS), gauges.get(Counter.SHUFFLES_ROWS.id()).getValue());
    assertTrue((Long) gauges.get(Counter.WRITE_RECORDS.id()).getValue() >= 1000);
    assertEquals(0L, gauges.get(FallbackReason.ENCRYPTION.metric()).getValue());
    assertEquals(spark.manager().executorState().memory().budget().limitBytes(),
        gauges.get(ExecutorGauge.MEMORY_LIMIT.id()).getValue());
    assertTrue((Long) gauges.get(ExecutorGauge.MEMORY_PEAK.id()).getValue() > 0);
    assertTrue((Long) gauges.get(ExecutorGauge.ARENA_RESERVED.id()).getValue() > 0);
  }

  @Test
  void fallbacksAreCountedByTheirReason() {
    spark = LocalSpark.start(
        Map.of("spark.io.encryption.enabled", "true", "spark.shuffle.useOldFetchProtocol", "true"));
    shuffledCount();
    long encrypted = spark.manager().fallbacks(FallbackReason.ENCRYPTION);
    assertTrue(encrypted > 0);
    assertEquals(spark.counter(Counter.SHUFFLES_STOCK), encrypted);
    var gauges = org.apache.spark.SparkEnv.get().metricsSystem()
        .getSourcesByName("plugin." + SluicePlugin.class.getName()).apply(0).metricRegistry().getGauges();
    assertEquals(encrypted, gauges.get(FallbackReason.ENCRYPTION.metric()).getValue());
    assertEquals(0L, gauges.get(FallbackReason.DISABLED.metric()).getValue());
  }

  @Test
  void shufflesOfRddsUseTheRecordFormat() {
    spark = LocalSpark.start(Map.of());
    var context = org.apache.spark.api.java.JavaSparkContext.fromSparkContext(spark.session().sparkContext());
    var sums = context.parallelize(java.util.List.of(1, 2, 3, 4, 5), 3)
        .mapToPair(i -> new scala.Tuple2<>(i % 2, i)).reduceByKey(Integer::sum).collectAsMap();
    assertEquals(Map.of(0, 6, 1, 9), sums);
    assertEquals(0, spark.counter(Counter.SHUFFLES_ROWS));
    assertEquals(0, spark.counter(Counter.SHUFFLES_STOCK));
    assertEquals(1, spark.counter(Counter.SHUFFLES_RECORDS));
  }

  @Test
  void blockResolverIsSparks() {
    spark = LocalSpark.start(Map.of());
    BlockManager blockManager = org.apache.spark.SparkEnv.get().blockManager();
    assertTrue(spark.manager().shuffleBlockResolver() instanceof org.apache.spark.shuffle.MigratableResolver);
    assertEquals(spark.manager().shuffleBlockResolver(), blockManager.migratableResolver());
  }
}
