package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.sluice.nativebridge.GpuKernels;
import io.sluice.spark.metrics.Counter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import scala.Tuple2;

/**
 * Map output that is encoded, and references to rows that are sorted, by a GPU: by the simulated driver, with the
 * kernels compiled for this machine. {@code ./sluice test} makes both before these tests.
 */
@Tag("once")
class SimulatedGpuTest {
  private static final Path SIMULATOR = Path.of(System.getProperty("gpu.simulator", "absent"));
  /** What names another library than the machine's {@code libcuda.so.1}. */
  private static final String LIBRARY = "sluice.cuda.library";
  /** More launches than the self-test has, and fewer than the first batches. */
  private static final int AFTER_SELF_TEST = 200;
  private static final Duration LIMIT = Duration.ofSeconds(180);
  /** The partitions of its rows do not depend on samples. */
  private static final Query HASHED =
      Query.moving("all types", spark -> Tables.allTypes(spark, 3000, 4), rows -> rows.repartition(7, col("id")));
  private static final Query SORT =
      Query.ordered("sort", spark -> Tables.events(spark, 30_000, 4).orderBy(col("k"), col("id").desc()));

  /** Its blocks are large enough to be read from the GPU. */
  private static final Query FEW_PARTITIONS =
      Query.moving("few partitions", spark -> Tables.events(spark, 60_000, 4), rows -> rows.repartition(2, col("id")));
  /** Partitions of 10,000 records. */
  private static final Query BY_KEY = Query.ordered("by key", SimulatedGpuTest::sortedByKey);

  private static Map<String, Fingerprint> expected;

  @BeforeAll
  static void reference() {
    assumeTrue(Engine.writesFrames(), "no frames are written");
    assumeTrue(Files.exists(SIMULATOR.resolve("libcuda.so.1")), "no simulated driver in " + SIMULATOR);
    System.setProperty(GpuKernels.PROPERTY, SIMULATOR.resolve("kernels").toString());
    expected = Query.onStock(List.of(HASHED, SORT, FEW_PARTITIONS, BY_KEY));
  }

  @AfterAll
  static void clear() {
    System.clearProperty(GpuKernels.PROPERTY);
    System.clearProperty(LIBRARY);
  }

  private static Dataset<Row> sortedByKey(SparkSession spark) {
    JavaRDD<Long> sorted = spark.range(0, 20_000, 1, 4).javaRDD()
        .mapToPair(id -> new Tuple2<>(Math.floorMod(id * 7919, 5_000L), id)).sortByKey(true, 2)
        .map(record -> 100_000 * record._1() + record._2());
    return spark.createDataset(sorted.rdd(), Encoders.LONG()).toDF("value");
  }

  private static SparkApplication.Builder application(String gpu, Path library) {
    System.setProperty(LIBRARY, library.toString());
    return SparkApplication.on(Engine.UNDER_TEST).set("spark.sluice.gpu", gpu)
        .set("spark.sluice.gpu.minBatchBytes", "64k").set("spark.sluice.writer.batchBytes", "1m");
  }

  /** Executors that each have a simulated machine. */
  private static SparkApplication.Builder onSimulatedGpus(String machine) {
    Path library = SIMULATOR.resolve("libcuda.so.1");
    return application("on", library).master(SparkApplication.CLUSTER)
        .set("spark.executorEnv.SLUICE_CUDA_SIM", "multiprocessors=1 " + machine)
        .set("spark.executor.extraJavaOptions",
            "-D" + LIBRARY + "=" + library + " -D" + GpuKernels.PROPERTY + "=" + SIMULATOR.resolve("kernels"));
  }

  /** Runs a query, and returns the bytes of the blocks that it has written. */
  private static long run(Query query, SparkSession session) {
    long before = ProcessCounters.here(Counter.WRITE_BLOCK_BYTES);
    assertEquals(expected.get(query.name()), query.run(session), query.name());
    return ProcessCounters.here(Counter.WRITE_BLOCK_BYTES) - before;
  }

  @VariantsInAll
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void resultsAreThoseOfStockAndBlocksThoseOfTheCpu(boolean encrypted) {
    String encryption = Boolean.toString(encrypted);
    long byCpu;
    try (SparkApplication application = application("off", SIMULATOR.resolve("libcuda.so.1"))
        .set("spark.io.encryption.enabled", encryption).start()) {
      byCpu = run(HASHED, application.session());
      assertEquals(0, ProcessCounters.here(Counter.GPU_BATCHES));
    }
    try (SparkApplication application = application("on", SIMULATOR.resolve("libcuda.so.1"))
        .set("spark.io.encryption.enabled", encryption).start()) {
      SparkSession session = application.session();
      long batches = afterItsFirstBatches(session);
      assertEquals(byCpu, run(HASHED, session));
      run(SORT, session);
      assertTrue(ProcessCounters.here(Counter.GPU_BATCHES) > batches);
      // 64 KiB or more of rows and their entries.
      assertTrue(ProcessCounters.here(Counter.GPU_ROW_BYTES) >= (batches + 1) << 15);
      assertEquals(0, ProcessCounters.here(Counter.GPU_TOO_LARGE));
      assertNothingFailed(application);
    }
  }

  /** A GPU makes frames in the clear, which are sealed before they are written; so are the copies that stay on it. */
  @VariantsInAll
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void rowsThatTheGpuEncodesAreInNoFileThatIsEncrypted(boolean encrypted) {
    try (SparkApplication application = application("on", SIMULATOR.resolve("libcuda.so.1"))
        .set("spark.sluice.gpu.cache.limit", "64m").set("spark.sluice.store", "files")
        .set("spark.sluice.memory.limit", "32m").set("spark.io.encryption.enabled", Boolean.toString(encrypted))
        .set("spark.shuffle.compress", "false").set("spark.shuffle.spill.compress", "false").start()) {
      SparkSession session = application.session();
      afterItsFirstBatches(session);
      try (MarkerWatch watch = MarkerWatch.below(application.localDir())) {
        long batches = ProcessCounters.here(Counter.GPU_BATCHES);
        Await.until(LIMIT, () -> "no batch with the marker was encoded by the GPU", () -> {
          assertEquals(100_000, session.range(0, 100_000, 1, 2)
              .selectExpr("id", "concat('" + Marker.TEXT + "', id % 1000) AS text").repartition(5, col("id"))
              .where("length(text) > 10").collectAsList().size());
          return ProcessCounters.here(Counter.GPU_BATCHES) > batches;
        });
        assertTrue((encrypted ? watch.kindsWithout() : watch.kindsWith()).contains("data"), "no map output was seen");
        assertEquals(encrypted, watch.kindsWith().isEmpty(), () -> watch.kindsWith().toString());
      }
      assertNothingFailed(application);
    }
  }

  /** References to 4,096 rows or more: of a sort in SQL, in Spark's memory, and of one by key, in Sluice's. */
  @Test
  void referencesToRowsAreSortedByTheGpu() {
    try (SparkApplication application = application("on", SIMULATOR.resolve("libcuda.so.1")).start()) {
      SparkSession session = application.session();
      afterItsFirstBatches(session);
      awaitSorts(() -> run(SORT.with("spark.sql.shuffle.partitions", "2"), session), "none of SQL's sorts");
      awaitSorts(() -> run(BY_KEY, session), "none of those by key");
      long all = ProcessCounters.here(Counter.GPU_SORTS);
      assertTrue(ProcessCounters.here(Counter.GPU_SORTED_PAIRS) >= all << 12);
      assertTrue(ProcessCounters.here(Counter.GPU_SORT_NANOS) > 0);
      assertNothingFailed(application);
    }
  }

  /** Runs a query until the GPU has sorted for it. */
  private static void awaitSorts(Runnable query, String otherwise) {
    long before = ProcessCounters.here(Counter.GPU_SORTS);
    Await.until(LIMIT, () -> otherwise, () -> {
      query.run();
      return ProcessCounters.here(Counter.GPU_SORTS) > before;
    });
  }

  /**
   * In memory or on the disk, in the clear or sealed: each output has a copy, which tasks read where the output is on
   * the disk, and none outlives its shuffle.
   */
  @VariantsInAll
  @ParameterizedTest
  @CsvSource({"files, true", "cache, false"})
  void committedOutputsStayOnTheGpuUntilTheirShufflesEnd(String store, boolean encrypted) {
    try (SparkApplication application = application("on", SIMULATOR.resolve("libcuda.so.1"))
        .set("spark.sluice.gpu.cache.limit", "64m").set("spark.sluice.store", store)
        .set("spark.io.encryption.enabled", Boolean.toString(encrypted)).start()) {
      SparkSession session = application.session();
      afterItsFirstBatches(session);
      Await.until(LIMIT, () -> "no map output was kept on the GPU, or none was dropped with its shuffle", () -> {
        run(SORT, session);
        return ProcessCounters.here(Counter.GPU_CACHE_OUTPUTS) > 0 && ProcessCounters.here(Counter.GPU_CACHE_ENDED) > 0;
      });
      boolean onDisk = store.equals("files");
      Await.until(LIMIT, () -> "no block was read from the GPU", () -> {
        run(FEW_PARTITIONS, session);
        return !onDisk || ProcessCounters.here(Counter.GPU_CACHE_HITS) > 0;
      });
      assertEquals(onDisk, ProcessCounters.here(Counter.GPU_CACHE_HITS) > 0);
      for (Counter none : List.of(Counter.GPU_CACHE_EVICTIONS, Counter.GPU_CACHE_REFUSED_BY_LIMIT,
          Counter.GPU_CACHE_DAMAGED, Counter.GPU_CACHE_LOST, Counter.GPU_CACHE_MISSES)) {
        assertEquals(0, ProcessCounters.here(none), none.id());
      }
      assertNothingFailed(application);
    }
  }

  /** Runs a query until the GPU, which is opened meanwhile, has encoded batches; how many. */
  private static long afterItsFirstBatches(SparkSession session) {
    Await.until(LIMIT, () -> "no batch was encoded by the GPU", () -> {
      run(SORT, session);
      return ProcessCounters.here(Counter.GPU_BATCHES) > 0;
    });
    return ProcessCounters.here(Counter.GPU_BATCHES);
  }

  private static void assertNothingFailed(SparkApplication application) {
    for (Counter failed : List.of(Counter.GPU_UNAVAILABLE, Counter.GPU_PINNED_REFUSED, Counter.GPU_LOST,
        Counter.GPU_CHECKS_FAILED, Counter.GPU_WRONG_RESULTS, Counter.GPU_NO_MEMORY, Counter.GPU_CALLS_FAILED,
        Counter.GPU_LOST_BATCHES)) {
      assertEquals(0, ProcessCounters.here(failed), failed.id());
    }
    assertEquals(0, application.events().retriedStages());
  }

  /**
   * Each executor's device is lost in the middle of its first batches, some launches after the self-test: by a call
   * that fails, or by work that does not end.
   */
  @InAll
  @ParameterizedTest
  @ValueSource(strings = {"lose", "hang"})
  void aLostGpuChangesNoResult(String fault) {
    try (SparkApplication application = onSimulatedGpus(fault + "=cuLaunchKernel@" + AFTER_SELF_TEST)
        .set("spark.sluice.gpu.timeout", "10s").start().awaitExecutors(2)) {
      Map<String, Map<Counter, Long>> counters = new TreeMap<>();
      Await.until(LIMIT, () -> "not each lost its device: " + counters, () -> {
        run(SORT, application.session());
        counters.putAll(ProcessCounters.byExecutor(application.context()));
        return counters.values().stream()
            .allMatch(one -> one.get(Counter.GPU_LOST) > 0 && one.get(Counter.GPU_LOST_BATCHES) > 0);
      });
      assertEquals(expected.get(HASHED.name()), HASHED.run(application.session()));
      counters.forEach((id, one) -> assertTrue(
          one.get(Counter.GPU_LOST) == 1 && one.get(Counter.GPU_UNAVAILABLE) == 0,
          () -> id + ": " + one));
      assertEquals(0, application.events().retriedStages());
    }
  }

  /** Another process has each device for itself. */
  @InAll
  @Test
  void aGpuThatCannotBeOpenedIsCountedOnce() {
    try (SparkApplication application = onSimulatedGpus("mode=3 held=1").start().awaitExecutors(2)) {
      Map<String, Map<Counter, Long>> counters = new TreeMap<>();
      Await.until(LIMIT, () -> "not each has counted: " + counters, () -> {
        run(SORT, application.session());
        counters.putAll(ProcessCounters.byExecutor(application.context()));
        return counters.values().stream().allMatch(one -> one.get(Counter.GPU_UNAVAILABLE) > 0);
      });
      assertEquals(expected.get(HASHED.name()), HASHED.run(application.session()));
      ProcessCounters.byExecutor(application.context()).forEach((id, one) -> assertTrue(
          one.get(Counter.GPU_UNAVAILABLE) == 1 && one.get(Counter.GPU_BATCHES) == 0, () -> id + ": " + one));
      assertEquals(0, application.events().retriedStages());
    }
  }

  /** Two devices, of which Spark gives each executor one, and tasks are told of none: the plugin is. */
  @InAll
  @Test
  void executorsUseTheGpuThatSparkHasGivenThem() throws IOException {
    Path discovery = Files.createTempFile("sluice-gpus-", ".sh");
    try {
      Files.writeString(discovery, "#!/bin/sh\necho '{\"name\": \"gpu\", \"addresses\": [\"0\", \"1\"]}'\n");
      assertTrue(discovery.toFile().setExecutable(true));
      try (SparkApplication application = onSimulatedGpus("devices=2")
          .set("spark.worker.resource.gpu.amount", "2")
          .set("spark.worker.resource.gpu.discoveryScript", discovery.toString())
          .set("spark.executor.resource.gpu.amount", "1").start().awaitExecutors(2)) {
        Map<String, Map<Counter, Long>> counters = new TreeMap<>();
        Await.until(LIMIT, () -> "not each has used one: " + counters, () -> {
          run(SORT, application.session());
          counters.putAll(ProcessCounters.byExecutor(application.context()));
          return counters.values().stream().allMatch(one -> one.get(Counter.GPU_BATCHES) > 0);
        });
        counters.forEach((id, one) -> assertEquals(0, one.get(Counter.GPU_UNAVAILABLE), () -> id + ": " + one));
      }
    } finally {
      Files.delete(discovery);
    }
  }

  @Test
  void withoutAGpuTheCpuEncodes() {
    try (SparkApplication application = application("on", Path.of("/absent/libcuda.so.1")).start()) {
      run(HASHED, application.session());
      run(SORT, application.session());
      Await.until(LIMIT, () -> "nothing was counted", () -> ProcessCounters.here(Counter.GPU_UNAVAILABLE) == 1);
      assertEquals(0, ProcessCounters.here(Counter.GPU_BATCHES));
    }
  }
}
