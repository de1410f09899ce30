package io.sluice.spark.policy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.LocalSpark;
import io.sluice.spark.SluiceException;
import io.sluice.spark.SluiceShuffleManager;
import io.sluice.spark.compat.RowSerializer;
import io.sluice.spark.conf.Settings;
import io.sluice.spark.metrics.Counter;
import java.util.Map;
import java.util.Optional;
import org.apache.spark.Aggregator;
import org.apache.spark.HashPartitioner;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.rdd.RDD;
import org.apache.spark.serializer.Serializer;
import org.apache.spark.shuffle.BaseShuffleHandle;
import org.apache.spark.shuffle.ShuffleWriteProcessor;
import org.apache.spark.shuffle.checksum.RowBasedChecksum;
import org.apache.spark.shuffle.sort.BypassMergeSortShuffleHandle;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.delta.perf.DeltaOptimizedWriterExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import org.apache.xbean.asm9.ClassWriter;
import org.apache.xbean.asm9.MethodVisitor;
import org.apache.xbean.asm9.Opcodes;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import scala.Option;
import scala.Product2;
import scala.math.Ordering;

import scala.reflect.ClassTag$;

/** Which shuffles take the rows path, and why the others do not; on dependencies that Spark SQL made. */
@Timeout(120)
class ShufflePolicyTest {
  private static LocalSpark spark;
  private static ShuffleDependency<Object, InternalRow, InternalRow> rows;

  @BeforeAll
  static void start() {
    // Push-based shuffle wants a serializer that Kryo is and Java's is not.
    spark = LocalSpark.start(Map.of("spark.serializer", "org.apache.spark.serializer.KryoSerializer"));
    rows = exchange();
  }

  @AfterAll
  static void stop() {
    spark.close();
  }

  private static ShuffleDependency<Object, InternalRow, InternalRow> exchange() {
    SparkPlan plan = spark.session().range(100).repartition(3).queryExecution().executedPlan();
    return assertInstanceOf(ShuffleExchangeExec.class, plan).shuffleDependency();
  }

  private static Optional<FallbackReason> fallback(ShuffleDependency<?, ?, ?> dependency, String... keysAndValues) {
    SparkConf conf = SparkEnv.get().conf().clone();
    for (int i = 0; i < keysAndValues.length; i += 2) {
      conf.set(keysAndValues[i], keysAndValues[i + 1]);
    }
    return new ShufflePolicy(conf, Settings.from(conf)).fallback(conf, dependency);
  }

  private static <K> ShuffleDependency<K, ?, ?> dependency(
      int partitions, Serializer serializer, Option<Ordering<K>> ordering, boolean aggregate) {
    @SuppressWarnings("unchecked") RDD<Product2<K, Object>> records = (RDD<Product2<K, Object>>) (RDD<?>) rows.rdd();
    Aggregator<K, Object, Object> aggregator = new Aggregator<>(
        (scala.Function1<Object, Object> & java.io.Serializable) value -> value,
        (scala.Function2<Object, Object, Object> & java.io.Serializable) (a, b) -> a,
        (scala.Function2<Object, Object, Object> & java.io.Serializable) (a, b) -> a);
    return new ShuffleDependency<>(records, new HashPartitioner(partitions), serializer, ordering,
        Option.apply(aggregate ? aggregator : null), false, new ShuffleWriteProcessor(),
        ClassTag$.MODULE$.apply(Object.class), ClassTag$.MODULE$.apply(Object.class),
        ClassTag$.MODULE$.apply(Object.class));
  }

  @Test
  void sqlRowsUseSluicesWriterAndReader() {
    assertEquals(Optional.empty(), fallback(rows));
    assertInstanceOf(SluiceShuffleHandle.class, rows.shuffleHandle());
  }

  @ParameterizedTest
  @CsvSource({
    "spark.io.compression.codec, lzf, COMPRESSION_CODEC",
    "spark.io.compression.codec, com.example.Codec, COMPRESSION_CODEC",
    "spark.shuffle.checksum.algorithm, XXH3, CHECKSUM_ALGORITHM",
    "spark.shuffle.sort.io.plugin.class, com.example.DataIO, CUSTOM_DATA_IO"
  })
  void unsupportedSettingsFallBackToSparksSortShuffle(String key, String value, FallbackReason expected) {
    assertEquals(Optional.of(expected), fallback(rows, key, value));
  }

  /** Where attempts of a map task share an id. */
  @Test
  void encryptionFallsBackWithTheOldFetchProtocolOnly() {
    String encryption = "spark.io.encryption.enabled";
    String old = "spark.shuffle.useOldFetchProtocol";
    assertEquals(Optional.empty(), fallback(rows, encryption, "true"));
    assertEquals(Optional.empty(), fallback(rows, old, "true"));
    assertEquals(Optional.of(FallbackReason.ENCRYPTION), fallback(rows, encryption, "true", old, "true"));
  }

  @Test
  void supportedSettingsDoNotFallBack() {
    assertEquals(Optional.empty(), fallback(rows, "spark.io.compression.codec", "zstd",
        "spark.shuffle.checksum.algorithm", "CRC32C", "spark.shuffle.sync", "true",
        "spark.shuffle.sort.io.plugin.class", "org.apache.spark.shuffle.sort.io.LocalDiskShuffleDataIO"));
    assertEquals(Optional.empty(),
        fallback(rows, "spark.io.compression.codec", "lzf", "spark.shuffle.compress", "false"));
    assertEquals(Optional.empty(), fallback(rows,
        "spark.shuffle.checksum.algorithm", "XXH3", "spark.shuffle.checksum.enabled", "false"));
  }

  @Test
  void pushBasedShuffleFallsBackOnlyWhereSparkWouldUseIt() {
    assertEquals(Optional.of(FallbackReason.PUSH_BASED),
        fallback(rows, "spark.shuffle.push.enabled", "true", "spark.testing", "true"));
    assertEquals(Optional.empty(), fallback(rows, "spark.shuffle.push.enabled", "true"));
  }

  @Test
  void shufflesWhoseBlocksALibraryReadsAreSparks() {
    assertEquals(Optional.of(FallbackReason.READ_BY_LIBRARY), DeltaOptimizedWriterExec.execute(() -> fallback(rows)));
    assertEquals(Optional.empty(), DeltaOptimizedWriterExec.childNumPartitions(() -> fallback(rows)), "its input's");
    assertEquals(Optional.empty(), fallback(rows));
  }

  @Test
  void recordsThatAreNotSqlRowsUseTheRecordFormat() {
    ShuffleDependency<Object, ?, ?> java = dependency(3, SparkEnv.get().serializer(), Option.empty(), false);
    assertEquals(Optional.empty(), fallback(java));
    SluiceShuffleHandle<?, ?, ?> handle = assertInstanceOf(SluiceShuffleHandle.class, java.shuffleHandle());
    assertEquals(RecordFormat.RDD_RECORDS, handle.format());
    Ordering<Object> ordering = (a, b) -> 0;
    assertEquals(Optional.empty(), fallback(dependency(3, SparkEnv.get().serializer(), Option.apply(ordering), true)));
    assertEquals(Optional.of(FallbackReason.RECORDS_DISABLED), fallback(java, "spark.sluice.records.enabled", "false"));
  }

  @Test
  void sqlRowsThatAreSortedOrAggregatedFallBack() {
    assertEquals(Optional.of(FallbackReason.AGGREGATOR),
        fallback(dependency(3, rows.serializer(), Option.empty(), true)));
    Ordering<Object> ordering = (a, b) -> 0;
    assertEquals(Optional.of(FallbackReason.KEY_ORDERING),
        fallback(dependency(3, rows.serializer(), Option.apply(ordering), false)));
  }

  /** Spark's modes of writing: RDMA keeps its format. */
  @Test
  void aFormatOfSparksThatIsAskedForIsTheFirstReason() {
    assertEquals(Optional.of(FallbackReason.CODEC_SPARK), fallback(rows, "spark.sluice.codec", "spark"));
    assertEquals(Optional.of(FallbackReason.CODEC_SPARK), fallback(rows, "spark.sluice.mode", "RDMA"));
    assertEquals(Optional.of(FallbackReason.CODEC_SPARK),
        fallback(rows, "spark.sluice.mode", "RDMA", "spark.io.compression.codec", "lzf"));
    assertTrue(FallbackReason.CODEC_SPARK.isWanted());
  }

  /** As on a vendor's Spark, whose serializer has no field of that name. */
  @Test
  void aRowSerializerWhoseMetricIsOutOfReachFallsBack() throws ReflectiveOperationException {
    Serializer other = rowSerializerWithoutFields();
    assertTrue(RowSerializer.isRowSerializer(other));
    assertEquals(Optional.of(FallbackReason.DATA_SIZE_METRIC), fallback(dependency(3, other, Option.empty(), false)));
  }

  private static Serializer rowSerializerWithoutFields() throws ReflectiveOperationException {
    String name = rows.serializer().getClass().getName();
    String parent = Serializer.class.getName().replace('.', '/');
    ClassWriter writer = new ClassWriter(0);
    writer.visit(Opcodes.V1_8, Opcodes.ACC_PUBLIC, name.replace('.', '/'), null, parent, null);
    MethodVisitor constructor = writer.visitMethod(Opcodes.ACC_PUBLIC, "<init>", "()V", null, null);
    constructor.visitVarInsn(Opcodes.ALOAD, 0);
    constructor.visitMethodInsn(Opcodes.INVOKESPECIAL, parent, "<init>", "()V", false);
    constructor.visitInsn(Opcodes.RETURN);
    constructor.visitMaxs(1, 1);
    constructor.visitEnd();
    writer.visitEnd();
    byte[] bytes = writer.toByteArray();
    ClassLoader loader = new ClassLoader(Serializer.class.getClassLoader()) {
      @Override
      protected Class<?> loadClass(String wanted, boolean resolve) throws ClassNotFoundException {
        return wanted.equals(name) ? defineClass(name, bytes, 0, bytes.length) : super.loadClass(wanted, resolve);
      }
    };
    return (Serializer) loader.loadClass(name).getConstructor().newInstance();
  }

  @Test
  void rowChecksumsOfAnUnknownKindFallBack() {
    assertEquals(Optional.of(FallbackReason.ROW_CHECKSUMS), fallback(withOwnChecksums(rows.serializer())));
    assertEquals(Optional.of(FallbackReason.ROW_CHECKSUMS), fallback(withOwnChecksums(SparkEnv.get().serializer())));
  }

  private static ShuffleDependency<Object, ?, ?> withOwnChecksums(Serializer serializer) {
    @SuppressWarnings("unchecked") RDD<Product2<Object, Object>> records =
        (RDD<Product2<Object, Object>>) (RDD<?>) rows.rdd();
    return new ShuffleDependency<>(records, new HashPartitioner(3), serializer, Option.<Ordering<Object>>empty(),
        Option.<Aggregator<Object, Object, Object>>empty(), false, new ShuffleWriteProcessor(),
        ClassTag$.MODULE$.apply(Object.class), ClassTag$.MODULE$.apply(Object.class),
        ClassTag$.MODULE$.apply(Object.class)) {
      @Override
      public RowBasedChecksum[] rowBasedChecksums() {
        return new RowBasedChecksum[] {new OwnChecksum(), new OwnChecksum(), new OwnChecksum()};
      }
    };
  }

  /** A library's. */
  private static final class OwnChecksum extends RowBasedChecksum {
    private static final long serialVersionUID = 1L;

    @Override
    public long calculateRowChecksum(Object key, Object value) {
      return 1;
    }
  }

  @Test
  void partitionsUpToSparksLimitAreAccepted() {
    assertEquals(Optional.empty(), fallback(dependency(1 << 24, rows.serializer(), Option.empty(), false)));
    ShuffleDependency<Object, ?, ?> tooMany = dependency((1 << 24) + 1, rows.serializer(), Option.empty(), false);
    assertEquals(Optional.of(FallbackReason.TOO_MANY_PARTITIONS), fallback(tooMany));
  }

  @Test
  void aSessionSettingDisablesAndEnablesSluice() {
    long before = spark.counter(Counter.SHUFFLES_STOCK);
    spark.session().conf().set("spark.sluice.enabled", "false");
    try {
      assertEquals(Optional.of(FallbackReason.DISABLED), fallback(rows));
      BaseShuffleHandle<?, ?, ?> handle = assertInstanceOf(BaseShuffleHandle.class, exchange().shuffleHandle());
      assertTrue(!(handle instanceof SluiceShuffleHandle));
      assertEquals(before + 1, spark.counter(Counter.SHUFFLES_STOCK));
    } finally {
      spark.session().conf().unset("spark.sluice.enabled");
    }
    assertInstanceOf(SluiceShuffleHandle.class, exchange().shuffleHandle());
  }

  @Test
  void aSessionValueOutOfRangeIsAnError() {
    spark.session().conf().set("spark.sluice.enabled", "perhaps");
    try {
      SluiceException failure = assertThrows(SluiceException.class, () -> fallback(rows));
      assertTrue(failure.getMessage().contains("spark.sluice.enabled = \"perhaps\""), failure.getMessage());
    } finally {
      spark.session().conf().unset("spark.sluice.enabled");
    }
  }

  @Test
  void aDriverThatRunsNoTasksNeedsNoLibrary() {
    SparkConf conf = SparkEnv.get().conf().clone().set("spark.sluice.native.library", "/absent/libsluice_jni.so")
        .setMaster("spark://elsewhere:7077");
    SluiceShuffleManager manager = new SluiceShuffleManager(conf, true);
    assertInstanceOf(SluiceShuffleHandle.class, manager.registerShuffle(9003, rows));
    assertTrue(manager.nativeLibrary().detail().contains("driver that runs no tasks"));
    assertEquals(0, manager.counters().get(Counter.EXECUTORS_WITHOUT_NATIVE_LIBRARY));
  }

  @Test
  void anExecutorWithoutLibraryCountsWhatItDoesWithout() {
    SparkConf conf = SparkEnv.get().conf().clone().set("spark.sluice.native.library", "/absent/libsluice_jni.so")
        .set("spark.sluice.transport", "ucx").set("spark.sluice.store", "cache").set("spark.sluice.mode", "UCX");
    SluiceShuffleManager manager = new SluiceShuffleManager(conf, false);
    assertTrue(manager.nativeLibrary().detail().contains("/absent/libsluice_jni.so"));
    assertTrue(manager.transport().isEmpty());
    assertEquals(1, manager.counters().get(Counter.EXECUTORS_WITHOUT_NATIVE_LIBRARY));
    assertEquals(1, manager.counters().get(Counter.TRANSPORT_UNAVAILABLE));
    assertEquals(1, manager.counters().get(Counter.CACHE_UNAVAILABLE));
  }

  @Test
  void dataSizeIsReadFromThePlansMetric() {
    assertTrue(RowSerializer.dataSizeReachable(rows.serializer()));
    assertEquals("data size", RowSerializer.dataSize(rows.serializer()).name().getOrElse(() -> "none"));
  }

  @Test
  void whatASessionSetsInVainIsNamed() {
    Map<String, String> set = Map.of("spark.sluice.enabled", "false", "spark.sluice.enabeld", "false",
        "spark.sluice.memory.limit", "2g", "spark.sluiced", "1");
    set.forEach(spark.session().conf()::set);
    try {
      assertEquals(Map.of(
          "spark.sluice.enabeld = \"false\"", "no setting of Sluice has this name (did you mean spark.sluice.enabled?)",
          "spark.sluice.memory.limit = \"2g\"",
          "it is fixed when the application starts (spark-submit --conf, spark-defaults.conf)"),
          ShufflePolicy.ignoredSettings(SparkEnv.get().conf()));
    } finally {
      set.keySet().forEach(spark.session().conf()::unset);
    }
    assertEquals(Map.of(), ShufflePolicy.ignoredSettings(SparkEnv.get().conf()), "the application's own settings");
  }
}
