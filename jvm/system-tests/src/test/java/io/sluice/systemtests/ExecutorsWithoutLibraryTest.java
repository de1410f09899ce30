package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.sluice.nativebridge.NativeLibrary;
import io.sluice.spark.SluiceShuffleManager;
import io.sluice.spark.metrics.Counter;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import scala.Tuple2;

/**
 * Clusters in which some or all executors, or the driver, cannot load the native library: every shuffle is Sluice's
 * from job 0 on, no task fails, and the results are those of stock.
 */
@Tag("deep")
class ExecutorsWithoutLibraryTest {
  private static final long ROWS = 30_000;
  private static final List<Query> QUERIES = List.of(
      Query.moving("all types", spark -> Tables.allTypes(spark, 3000, 6), rows -> rows.repartition(7, col("id"))),
      // Its rows lie in batches of columns, which only an executor with the library takes as they are.
      Query.moving("cached columns", spark -> Tables.events(spark, ROWS, 6).select("id", "k", "d", "x").cache(),
          rows -> rows.repartition(7, col("k"))),
      Query.of("join", spark -> Tables.events(spark, ROWS, 6).as("l").hint("merge")
          .join(Tables.events(spark, ROWS, 5).as("r").hint("merge"), "id").groupBy("l.k").count()),
      Query.ordered("sort", spark -> Tables.events(spark, ROWS, 6).orderBy(col("k"), col("id").desc())));

  private static Map<String, Fingerprint> expected;
  private static List<String> expectedRecords;

  @TempDir Path folder;

  @BeforeAll
  static void reference() {
    assumeTrue(Engine.UNDER_TEST.isSluice(), "Spark's own shuffle has no library");
    expected = Query.onStock(QUERIES);
    try (SparkApplication stock = SparkApplication.on(Engine.STOCK).start()) {
      expectedRecords = records(stock.context());
    }
  }

  /** Jobs on RDDs: combined numbers, sorted text, and objects that go through the serializer. */
  private static List<String> records(JavaSparkContext context) {
    List<Integer> numbers = IntStream.range(0, 10_000).boxed().collect(Collectors.toCollection(ArrayList::new));
    List<String> results = new ArrayList<>();
    new TreeMap<>(context.parallelize(numbers, 6).mapToPair(n -> new Tuple2<>(n % 50, (long) n))
        .reduceByKey(Long::sum, 5).collectAsMap()).forEach((key, sum) -> results.add(key + "=" + sum));
    context.parallelize(numbers, 6).mapToPair(n -> new Tuple2<>("key " + n * 7919 % 10_000, n)).sortByKey(true, 5)
        .collect().forEach(pair -> results.add(pair.toString()));
    results
        .add("objects " + context.parallelize(numbers, 6).mapToPair(n -> new Tuple2<>(n, new ArrayList<>(List.of(n))))
            .groupByKey(5).filter(pair -> pair._2().iterator().next().get(0).equals(pair._1())).count());
    return results;
  }

  private static SparkApplication.Builder cluster(String library) {
    return SparkApplication.on(Engine.UNDER_TEST).master(SparkApplication.CLUSTER)
        .set("spark.task.maxFailures", "1")
        .setAll(Map.of("spark.sluice.columnar", "true"))
        .set("spark.executor.extraJavaOptions", "-D" + NativeLibrary.PROPERTY + "=" + library);
  }

  private static void assertResults(SparkApplication application) {
    SparkSession session = application.session();
    QUERIES.forEach(query -> assertEquals(expected.get(query.name()), query.run(session), query.name()));
    assertEquals(expectedRecords, records(application.context()));
    assertEquals(0, application.events().retriedStages());
    if (Engine.writesFrames()) {
      assertTrue(ProcessCounters.here(Counter.SHUFFLES_ROWS) > 0 && ProcessCounters.here(Counter.SHUFFLES_RECORDS) > 0);
      assertEquals(0, ProcessCounters.here(Counter.SHUFFLES_STOCK));
    }
  }

  private static void assertEachWroteAndRead(Map<String, Map<Counter, Long>> counters) {
    assertEquals(2, counters.size());
    counters.forEach((id, one) -> assertTrue(one.get(Counter.WRITE_MAP_OUTPUTS) > 0 && one.get(Counter.READ_FRAMES) > 0
        && one.get(Counter.READ_REMOTE_BLOCKS) > 0 && one.get(Counter.MEMORY_LEAKED_LEASES) == 0,
        () -> id + ": " + one));
  }

  /** One executor without the library and one with it; each reads what the other has written. */
  private SparkApplication.Builder mixed() throws IOException {
    String machine = System.getProperty("os.arch").replace("amd64", "x86_64");
    try (InputStream library =
        NativeLibrary.class.getResourceAsStream("/io/sluice/native/linux-" + machine + "/libsluice_jni.so")) {
      Files.copy(library, folder.resolve("0.so"));
    }
    Files.write(folder.resolve("1.so"), new byte[1000]);
    // Spark inserts the executor's id here.
    return cluster(folder + "/{{EXECUTOR_ID}}.so").set("spark.shuffle.readHostLocalDisk", "false");
  }

  @Test
  void noExecutorHasIt() {
    try (SparkApplication application = cluster("/absent/libsluice_jni.so")
        .set("spark.shuffle.readHostLocalDisk", "false").start().awaitExecutors(2)) {
      assertResults(application);
      Map<String, Map<Counter, Long>> counters = ProcessCounters.byExecutor(application.context());
      counters.values().forEach(one -> assertEquals(1, one.get(Counter.EXECUTORS_WITHOUT_NATIVE_LIBRARY)));
      if (Engine.writesFrames()) {
        assertEachWroteAndRead(counters);
      }
    }
  }

  @Test
  void oneOfTwoHasIt() throws IOException {
    try (SparkApplication application = mixed().start().awaitExecutors(2)) {
      assertResults(application);
      Map<String, Map<Counter, Long>> counters = ProcessCounters.byExecutor(application.context());
      assertEquals(0, counters.get("0").get(Counter.EXECUTORS_WITHOUT_NATIVE_LIBRARY));
      assertEquals(1, counters.get("1").get(Counter.EXECUTORS_WITHOUT_NATIVE_LIBRARY));
      if (Engine.writesFrames()) {
        assertEachWroteAndRead(counters);
      }
    }
  }

  /** Frames that one side has sealed in Java are opened by the native core of the other, and the reverse. */
  @InAll
  @Test
  void oneOfTwoHasItAndBlocksAreEncrypted() throws IOException {
    try (SparkApplication application =
        mixed().set("spark.io.encryption.enabled", "true").start().awaitExecutors(2)) {
      assertResults(application);
      if (Engine.writesFrames()) {
        assertEachWroteAndRead(ProcessCounters.byExecutor(application.context()));
      }
    }
  }

  /** With one-sided reads and map outputs in memory, neither of which the executor without the library uses. */
  @InAll
  @Tag("once")
  @Test
  void oneOfTwoHasItInModeUcx() throws IOException {
    try (SparkApplication application = mixed().set("spark.sluice.mode", "UCX").start().awaitExecutors(2)) {
      assertResults(application);
      Map<String, Map<Counter, Long>> counters = ProcessCounters.byExecutor(application.context());
      assertEachWroteAndRead(counters);
      assertTrue(counters.get("0").get(Counter.CACHE_OUTPUTS) > 0, () -> "with the library: " + counters.get("0"));
      assertEquals(0, counters.get("0").get(Counter.TRANSPORT_UNAVAILABLE));
      assertEquals(0, counters.get("1").get(Counter.CACHE_OUTPUTS));
      assertEquals(1, counters.get("1").get(Counter.CACHE_UNAVAILABLE));
      assertEquals(1, counters.get("1").get(Counter.TRANSPORT_UNAVAILABLE));
    }
  }

  @InAll
  @Test
  void theDriverHasNone() throws IOException {
    String before = System.getProperty(NativeLibrary.PROPERTY);
    System.setProperty(NativeLibrary.PROPERTY, "/absent/in/the/driver.so");
    try (SparkApplication application = mixed().start().awaitExecutors(2)) {
      assertFalse(((SluiceShuffleManager) SparkEnv.get().shuffleManager()).nativeLibrary().available());
      assertEquals(0, ProcessCounters.here(Counter.EXECUTORS_WITHOUT_NATIVE_LIBRARY));
      assertResults(application);
      assertEquals(0, ProcessCounters.byExecutor(application.context()).get("0")
          .get(Counter.EXECUTORS_WITHOUT_NATIVE_LIBRARY));
    } finally {
      if (before == null) {
        System.clearProperty(NativeLibrary.PROPERTY);
      } else {
        System.setProperty(NativeLibrary.PROPERTY, before);
      }
    }
  }

  /** The driver registers job 0's shuffles before any executor exists that could report that it lacks the library. */
  @InAll
  @Test
  void dynamicAllocationFromNoExecutor() {
    try (SparkApplication application = cluster("/absent/libsluice_jni.so")
        .set("spark.dynamicAllocation.enabled", "true")
        .set("spark.dynamicAllocation.shuffleTracking.enabled", "true")
        .set("spark.dynamicAllocation.initialExecutors", "0")
        .set("spark.dynamicAllocation.minExecutors", "0")
        .set("spark.dynamicAllocation.maxExecutors", "2")
        .start()) {
      assertEquals(0, ClusterExecutors.ids(application.session().sparkContext()).size());
      assertResults(application);
      assertTrue(ProcessCounters.ofExecutors(application.context()).get(Counter.EXECUTORS_WITHOUT_NATIVE_LIBRARY) > 0);
    }
  }
}
