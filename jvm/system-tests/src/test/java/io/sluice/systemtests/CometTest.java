package io.sluice.systemtests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.sluice.nativebridge.NativeLibrary;
import io.sluice.spark.metrics.Counter;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.apache.logging.log4j.Level;
import org.apache.spark.SparkEnv;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * DataFusion Comet: its operators above Sluice's shuffle, with exchanges of rows and with its own ones; with its own
 * shuffle, Sluice's plugin leaves it alone.
 */
@InAll
@Timeout(900)
class CometTest {
  private static final String SHUFFLE_MANAGER = "org.apache.spark.sql.comet.execution.shuffle.CometShuffleManager";
  private static final Map<String, String> SETTINGS = new TreeMap<>(Map.of(
      "spark.comet.enabled", "true", "spark.comet.exec.enabled", "true",
      "spark.memory.offHeap.enabled", "true", "spark.memory.offHeap.size", "1g",
      "spark.sql.adaptive.enabled", "true"));
  private static final int QUERIES = Integer.getInteger("systemtests.queries", 40);
  private static final String JOIN = "SELECT e.name, count(*) AS n, sum(e.k) AS total FROM facts e JOIN facts o "
      + "ON e.id = o.k WHERE e.d < 200 GROUP BY e.name";

  private static SparkApplication.Builder application(Engine engine, String plugins) {
    return SparkApplication.on(engine).setAll(SETTINGS).set("spark.plugins", plugins);
  }

  private static void facts(SparkSession spark, Path folder) {
    Tables.events(spark, 20_000, 3).write().mode("overwrite").parquet(folder.toString());
    spark.read().parquet(folder.toString()).createOrReplaceTempView("facts");
  }

  private static Fingerprint result(SparkApplication application, String[] plan) {
    Path folder = SparkApplication.workDir().resolve("comet-facts");
    try {
      facts(application.session(), folder);
      Dataset<Row> joined = application.session().sql(JOIN);
      Fingerprint rows = Fingerprint.of(joined.orderBy("name").repartition(1)).unordered();
      joined.collectAsList();
      plan[0] = String.join("\n", Plans.shape(joined));
      return rows;
    } finally {
      ShuffleFiles.deleteTree(folder);
    }
  }

  private static Fingerprint onStock() {
    String[] plan = new String[1];
    try (SparkApplication stock = SparkApplication.on(Engine.STOCK).start()) {
      return result(stock, plan);
    }
  }

  @Test
  void cometsOperatorsAboveSluicesShuffle() {
    assumeTrue(Engine.UNDER_TEST.isSluice());
    Fingerprint expected = onStock();
    String[] plan = new String[1];
    try (Neighbour comet = Neighbour.load("comet");
        SparkApplication application = application(
            Engine.UNDER_TEST, "io.sluice.spark.SluicePlugin,org.apache.spark.CometPlugin")
            .set("spark.comet.shuffle.enabled", "false").set("spark.comet.exec.shuffle.enabled", "false").start()) {
      assertEquals(expected, result(application, plan));
      assertTrue(plan[0].contains("Comet"), plan[0]);
      assertFalse(plan[0].contains("CometExchange") || plan[0].contains("CometColumnarExchange"), plan[0]);
      assertTrue(ProcessCounters.here(Counter.SHUFFLES_ROWS) >= 3);
      assertEquals(0, ProcessCounters.here(Counter.SHUFFLES_STOCK));
      assertTrue(ProcessCounters.here(Counter.WRITE_RECORDS) > 0);
    }
  }

  /** Comet 0.12, whose exchanges Sluice carries; the test is skipped with another, whose exchanges stay as they are. */
  private static Neighbour cometWithExchanges() {
    Neighbour comet = Neighbour.load("comet");
    if (!version().startsWith("0.12.")) {
      comet.close();
      assumeTrue(false, "Sluice does not carry the exchanges of Comet " + version());
    }
    return comet;
  }

  private static SparkApplication.Builder carried() {
    return application(Engine.UNDER_TEST, "io.sluice.spark.SluicePlugin,org.apache.spark.CometPlugin");
  }

  private static SparkApplication.Builder cometsOwn() {
    return SparkApplication.on(Engine.STOCK).setAll(SETTINGS).set("spark.plugins", "org.apache.spark.CometPlugin")
        .manager(SHUFFLE_MANAGER);
  }

  private static SparkApplication onCometsOwnShuffle() {
    return cometsOwn().start();
  }

  private static boolean hasCometsExchange(String plan) {
    return plan.contains("CometExchange") || plan.contains("CometColumnarExchange");
  }

  @Test
  void cometsExchangesAreCarriedBySluice() {
    assumeTrue(Engine.UNDER_TEST.isSluice());
    Fingerprint expected = onStock();
    String[] plan = new String[1];
    try (Neighbour comet = cometWithExchanges(); LogCapture log = LogCapture.open();
        SparkApplication application = carried().start()) {
      assertEquals(1, log.messages(Level.INFO, "Comet 0.12.0: its exchanges are carried by Sluice").size());
      assertEquals(expected, result(application, plan));
      assertTrue(plan[0].contains("CometExchange"), plan[0]);
      assertTrue(ProcessCounters.here(Counter.SHUFFLES_ROWS) >= 3);
      assertEquals(0, ProcessCounters.here(Counter.SHUFFLES_STOCK));
      assertTrue(ProcessCounters.here(Counter.READ_DECODE_NANOS) > 0);
      application.session().conf().set("spark.sluice.comet", "false");
      assertEquals(expected, result(application, plan));
      assertFalse(hasCometsExchange(plan[0]), plan[0]);
      application.session().conf().set("spark.sluice.comet", "true");
      assertEquals(expected, result(application, plan));
      assertTrue(plan[0].contains("CometExchange"), plan[0]);
      application.session().conf().set("spark.sluice.enabled", "false");
      assertEquals(expected, result(application, plan));
      assertFalse(hasCometsExchange(plan[0]), plan[0]);
      assertTrue(ProcessCounters.here(Counter.SHUFFLES_STOCK) > 0);
      NativeMemory.assertAllReturned();
    }
  }

  /** Of each task 64 rows are given to Spark's partitioner, too. */
  @Test
  void rangesOfASortAreFoundNatively() {
    assumeTrue(Engine.UNDER_TEST.isSluice());
    List<String> queries = List.of("c_boolean DESC, c_short, id", "c_byte DESC NULLS LAST, name, id",
        "c_int NULLS LAST, id", "c_string DESC, id DESC", "c_binary, id",
        "c_decimal_in_bytes DESC NULLS LAST, c_decimal_in_long, id", "c_date, c_timestamp DESC, id",
        "c_timestamp_ntz NULLS LAST, c_long, id").stream()
        .map(order -> "SELECT id, c_boolean, c_string, c_binary, c_date FROM facts ORDER BY " + order).toList();
    Path folder = SparkApplication.workDir().resolve("comet-ranges");
    List<Fingerprint> expected = new ArrayList<>();
    try {
      try (SparkApplication stock = SparkApplication.on(Engine.STOCK).start()) {
        CometQuery.write(stock.session(), folder.toString());
        stock.session().read().parquet(folder.toString()).createOrReplaceTempView("facts");
        queries.forEach(query -> expected.add(Fingerprint.of(stock.session().sql(query))));
      }
      try (Neighbour comet = cometWithExchanges(); SparkApplication application = carried()
          .set("spark.sql.shuffle.partitions", "7").set("spark.sql.adaptive.enabled", "false").start()) {
        application.session().read().parquet(folder.toString()).createOrReplaceTempView("facts");
        for (int i = 0; i < queries.size(); i++) {
          long found = ProcessCounters.here(Counter.WRITE_PARTITIONS_FOUND);
          long asked = ProcessCounters.here(Counter.WRITE_PARTITIONS_ASKED);
          Dataset<Row> sorted = application.session().sql(queries.get(i));
          assertEquals(expected.get(i), Fingerprint.of(sorted), queries.get(i));
          String plan = Plans.shape(sorted).toString();
          assertTrue(plan.contains("CometExchange"), plan);
          long compared = ProcessCounters.here(Counter.WRITE_PARTITIONS_ASKED) - asked;
          assertTrue(compared > 0 && compared % 64 == 0 && compared <= 64 * 4, queries.get(i) + ": " + compared);
          assertEquals(CometQuery.ROWS, ProcessCounters.here(Counter.WRITE_PARTITIONS_FOUND) - found + compared);
        }
        assertEquals(0, ProcessCounters.here(Counter.WRITE_PARTITIONS_REFUTED));
        NativeMemory.assertAllReturned();
      }
    } finally {
      ShuffleFiles.deleteTree(folder);
    }
  }

  @Test
  void theExchangesMetricsAreCometsAndSparks() {
    assumeTrue(Engine.UNDER_TEST.isSluice());
    Path folder = SparkApplication.workDir().resolve("comet-metrics");
    String query = "SELECT /*+ REPARTITION(5, k) */ * FROM facts";
    try (Neighbour comet = cometWithExchanges()) {
      long cometsDataSize;
      try (SparkApplication application = onCometsOwnShuffle()) {
        facts(application.session(), folder);
        Dataset<Row> rows = application.session().sql(query);
        assertEquals(20_000, Fingerprint.of(rows).rows());
        cometsDataSize = Collections.max(Plans.metric(rows, "dataSize"));
      }
      metrics(query, folder, cometsDataSize);
    } finally {
      ShuffleFiles.deleteTree(folder);
    }
  }

  private static void metrics(String query, Path folder, long cometsDataSize) {
    try (SparkApplication application = carried().start()) {
      facts(application.session(), folder);
      Dataset<Row> rows = application.session().sql(query);
      assertEquals(20_000, Fingerprint.of(rows).rows());
      // Adaptive execution chooses broadcasts by it. Comet counts what its buffers have room for.
      long dataSize = Collections.max(Plans.metric(rows, "dataSize"));
      assertTrue(dataSize <= cometsDataSize && dataSize > cometsDataSize / 2, dataSize + ", Comet: " + cometsDataSize);
      for (String name : List.of("dataSize", "decode_time", "encode_time", "input_batches", "repart_time",
          "shuffleBytesWritten", "localBytesRead")) {
        assertTrue(Plans.metric(rows, name).stream().anyMatch(value -> value > 0), name);
      }
      for (String name : List.of("shuffleRecordsWritten", "recordsRead")) {
        assertTrue(Plans.metric(rows, name).contains(20_000L), name + ": " + Plans.metric(rows, name));
      }
    }
  }

  static List<Map<String, String>> clusters() {
    return List.of(Map.of(), Map.of("spark.io.encryption.enabled", "true"),
        Map.of("spark.executor.extraJavaOptions", "-D" + NativeLibrary.PROPERTY + "=/no/such/library.so"));
  }

  @ParameterizedTest
  @MethodSource("clusters")
  void executorsInProcessesOfTheirOwn(Map<String, String> settings) {
    assumeTrue(Engine.UNDER_TEST.isSluice());
    Fingerprint expected = onStock();
    String[] plan = new String[1];
    try (Neighbour comet = cometWithExchanges(); SparkApplication application = carried().setAll(settings)
        .master(SparkApplication.CLUSTER).addToExecutorClassPath(comet.classPath()).start().awaitExecutors(2)) {
      assertEquals(expected, result(application, plan));
      assertTrue(plan[0].contains("CometExchange"), plan[0]);
      Map<Counter, Long> executors = ProcessCounters.ofExecutors(application.context());
      assertTrue(executors.get(Counter.READ_REMOTE_BLOCKS) > 0, executors::toString);
      assertTrue(executors.get(Counter.READ_RECORDS) > 20_000, executors::toString);
      assertEquals(0, ProcessCounters.here(Counter.SHUFFLES_STOCK));
    }
  }

  @Test
  void manyBatchesAreSpilled() {
    assumeTrue(Engine.UNDER_TEST.isSluice());
    String query = "SELECT /*+ REPARTITION(40, id) */ *, sha2(CAST(id AS STRING), 512) AS t FROM facts";
    Path folder = SparkApplication.workDir().resolve("comet-spills");
    Fingerprint expected;
    try (SparkApplication stock = SparkApplication.on(Engine.STOCK).start()) {
      Tables.events(stock.session(), 1_500_000, 3).write().mode("overwrite").parquet(folder.toString());
      stock.session().read().parquet(folder.toString()).createOrReplaceTempView("facts");
      expected = Fingerprint.of(stock.session().sql(query)).unordered();
    }
    try (Neighbour comet = cometWithExchanges();
        SparkApplication application = carried().set("spark.memory.offHeap.size", "64m").start()) {
      application.session().read().parquet(folder.toString()).createOrReplaceTempView("facts");
      Dataset<Row> rows = application.session().sql(query);
      assertEquals(expected, Fingerprint.of(rows).unordered());
      assertTrue(Plans.shape(rows).toString().contains("CometExchange"), () -> Plans.shape(rows).toString());
      long spills = ProcessCounters.here(Counter.WRITE_SPILLS);
      assertTrue(spills > 0, "nothing was spilled");
      assertEquals(spills, Plans.metric(rows, "spill_count").stream().mapToLong(Long::longValue).sum());
      assertTrue(Plans.metric(rows, "spilled_bytes").stream().anyMatch(value -> value > 0));
      NativeMemory.assertAllReturned();
    } finally {
      ShuffleFiles.deleteTree(folder);
    }
  }

  /**
   * Comet's join and totals keep batches in the pool that the writer above them takes its memory from, and so does a
   * reader below them: where they get by with Comet's own shuffle, they do with Sluice's.
   */
  @Test
  void operatorsHaveMemoryBelowAWriterAndAboveAReader() {
    assumeTrue(Engine.UNDER_TEST.isSluice());
    String query = "SELECT /*+ REPARTITION(40, k) */ * FROM (SELECT a.k, a.id, sum(b.id) AS s, count(*) AS n, "
        + "sha2(CAST(a.id AS STRING), 512) AS t FROM facts a JOIN facts b ON a.id = b.id GROUP BY a.k, a.id)";
    Path folder = SparkApplication.workDir().resolve("comet-pool");
    try (Neighbour comet = cometWithExchanges()) {
      Fingerprint expected;
      try (SparkApplication stock = SparkApplication.on(Engine.STOCK).start()) {
        Tables.events(stock.session(), 600_000, 3).write().mode("overwrite").parquet(folder.toString());
        stock.session().read().parquet(folder.toString()).createOrReplaceTempView("facts");
        expected = Fingerprint.of(stock.session().sql(query)).unordered();
      }
      // With 64 MiB Comet's sort fails, whoever carries its exchanges.
      for (SparkApplication.Builder builder : List.of(cometsOwn(), carried())) {
        try (SparkApplication application = builder.set("spark.memory.offHeap.size", "96m")
            .set("spark.sql.autoBroadcastJoinThreshold", "-1").start()) {
          application.session().read().parquet(folder.toString()).createOrReplaceTempView("facts");
          Dataset<Row> rows = application.session().sql(query);
          assertEquals(expected, Fingerprint.of(rows).unordered());
          assertTrue(hasCometsExchange(Plans.shape(rows).toString()), () -> Plans.shape(rows).toString());
          NativeMemory.assertAllReturned();
        }
      }
    } finally {
      ShuffleFiles.deleteTree(folder);
    }
  }

  /** Rows with {@link Marker#TEXT} that Comet reads from Parquet and moves by its exchanges. */
  private static void secrets(SparkSession spark, Path folder, long rows) {
    Tables.events(spark, rows, 3).selectExpr("id", "k", "concat('" + Marker.TEXT + "', repeat(name, 12)) AS text")
        .write().mode("overwrite").parquet(folder.toString());
    spark.read().parquet(folder.toString()).createOrReplaceTempView("secrets");
  }

  /** Without compression, so that batches in the clear would be found. */
  private static SparkApplication.Builder uncompressed(boolean encrypted) {
    return carried().set("spark.io.encryption.enabled", Boolean.toString(encrypted))
        .set("spark.shuffle.compress", "false").set("spark.shuffle.spill.compress", "false");
  }

  private static void assertMovedAsColumns(SparkApplication application, int partitions) {
    Fingerprint expected = Fingerprint.of(application.session().sql("SELECT * FROM secrets")).unordered();
    Dataset<Row> rows =
        application.session().sql("SELECT /*+ REPARTITION(" + partitions + ", k) */ * FROM secrets");
    assertEquals(expected, Fingerprint.of(rows).unordered());
    assertTrue(Plans.shape(rows).toString().contains("CometExchange"), () -> Plans.shape(rows).toString());
    assertEquals(0, ProcessCounters.here(Counter.SHUFFLES_STOCK));
  }

  /** With encryption in no file and no memory file; without it they are in all of them. */
  @ParameterizedTest
  @CsvSource({"MULTITHREADED, true", "MULTITHREADED, false", "CACHE_ONLY, true", "CACHE_ONLY, false"})
  void rowsOfBatchesAreInNoMapOutputThatIsEncrypted(String mode, boolean encrypted) {
    assumeTrue(Engine.UNDER_TEST.isSluice());
    Path folder = SparkApplication.workDir().resolve("comet-secrets");
    try (Neighbour comet = cometWithExchanges();
        SparkApplication application = uncompressed(encrypted).set("spark.sluice.mode", mode)
            // Files are looked at when nobody has the shuffle any more.
            .set("spark.cleaner.referenceTracking", "false").start()) {
      secrets(application.session(), folder, 40_000);
      try (MarkerWatch watch = MarkerWatch.below(application.localDir())) {
        assertMovedAsColumns(application, 5);
        assertEquals(mode.equals("CACHE_ONLY"), ProcessCounters.here(Counter.CACHE_OUTPUTS) > 0);
        for (Path file : ShuffleFiles.data(application.localDir())) {
          assertEquals(mode.equals("CACHE_ONLY"), Files.isSymbolicLink(file), file::toString);
          assertEquals(encrypted, !Marker.isIn(file), file::toString);
        }
        assertEquals(encrypted, watch.kindsWith().isEmpty(), () -> watch.kindsWith().toString());
      }
      assertFalse(ShuffleFiles.data(application.localDir()).isEmpty());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } finally {
      ShuffleFiles.deleteTree(folder);
    }
  }

  /** With little memory; spill files are gone when the job has ended. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void rowsOfBatchesAreInNoSpillThatIsEncrypted(boolean encrypted) {
    assumeTrue(Engine.UNDER_TEST.isSluice());
    Path folder = SparkApplication.workDir().resolve("comet-secret-spills");
    try (Neighbour comet = cometWithExchanges();
        SparkApplication application = uncompressed(encrypted).set("spark.memory.offHeap.size", "64m").start()) {
      secrets(application.session(), folder, 1_500_000);
      try (MarkerWatch watch = MarkerWatch.below(application.localDir())) {
        assertMovedAsColumns(application, 40);
        assertTrue(ProcessCounters.here(Counter.WRITE_SPILLS) > 0, "nothing was spilled");
        assertTrue((encrypted ? watch.kindsWithout() : watch.kindsWith()).contains("spill"), "no spill file was seen");
        assertEquals(encrypted, watch.kindsWith().isEmpty(), () -> watch.kindsWith().toString());
      }
    } finally {
      ShuffleFiles.deleteTree(folder);
    }
  }

  /**
   * Comet's sort keeps the buffers of all batches until the last one is there. Those with nested columns are made of
   * rows.
   */
  @ParameterizedTest
  @MethodSource("readers")
  void nativeOperatorsMayKeepTheBatches(Map<String, String> settings) {
    assumeTrue(Engine.UNDER_TEST.isSluice());
    List<String> queries = List.of("SELECT * FROM facts ORDER BY k, id", "SELECT id, array(k, d) AS a FROM facts "
        + "ORDER BY k, id", "SELECT count(*) AS n FROM (SELECT /*+ REPARTITION(3) */ id FROM facts)");
    Path folder = SparkApplication.workDir().resolve("comet-sorts");
    try {
      List<Fingerprint> expected = new ArrayList<>();
      try (SparkApplication stock = SparkApplication.on(Engine.STOCK).start()) {
        Tables.events(stock.session(), 60_000, 3).write().mode("overwrite").parquet(folder.toString());
        stock.session().read().parquet(folder.toString()).createOrReplaceTempView("facts");
        queries.forEach(query -> expected.add(Fingerprint.of(stock.session().sql(query))));
      }
      try (Neighbour comet = cometWithExchanges();
          SparkApplication application = carried().set("spark.sql.shuffle.partitions", "1").setAll(settings).start()) {
        application.session().read().parquet(folder.toString()).createOrReplaceTempView("facts");
        for (int i = 0; i < queries.size(); i++) {
          Dataset<Row> sorted = application.session().sql(queries.get(i));
          assertEquals(expected.get(i), Fingerprint.of(sorted), queries.get(i));
          String plan = Plans.shape(sorted).toString();
          assertTrue(hasCometsExchange(plan), plan);
          assertTrue(i == 2 || plan.contains("CometSort"), plan);
        }
        NativeMemory.assertAllReturned();
      }
    } finally {
      ShuffleFiles.deleteTree(folder);
    }
  }

  /**
   * Comet's aggregates without keys want each map task's row as a batch of its own. As many map tasks as here would fit
   * one.
   */
  @ParameterizedTest
  @MethodSource("readers")
  void aggregatesWithoutKeysGetTheRowOfEachMapTaskAlone(Map<String, String> settings) {
    assumeTrue(Engine.UNDER_TEST.isSluice());
    List<String> queries = List.of(
        "SELECT sum(price) AS s, avg(price) AS a, count(*) AS n FROM facts",
        "SELECT sum(price) AS s, min(k) AS m FROM facts WHERE id < 0",
        "SELECT count(DISTINCT k) AS k, sum(price) AS s FROM facts");
    Path folder = SparkApplication.workDir().resolve("comet-totals");
    try {
      List<Fingerprint> expected = new ArrayList<>();
      try (Neighbour comet = cometWithExchanges(); SparkApplication own = onCometsOwnShuffle()) {
        Tables.events(own.session(), 20_000, 7).selectExpr("*", "CAST(id AS DECIMAL(12, 2)) AS price").write()
            .mode("overwrite").parquet(folder.toString());
        own.session().read().parquet(folder.toString()).createOrReplaceTempView("facts");
        queries.forEach(query -> expected.add(Fingerprint.of(own.session().sql(query))));
      }
      try (Neighbour comet = cometWithExchanges();
          SparkApplication application =
              carried().set("spark.sql.files.openCostInBytes", "128m").setAll(settings).start()) {
        application.session().read().parquet(folder.toString()).createOrReplaceTempView("facts");
        for (int i = 0; i < queries.size(); i++) {
          Dataset<Row> rows = application.session().sql(queries.get(i));
          assertEquals(expected.get(i), Fingerprint.of(rows), queries.get(i));
          String plan = Plans.shape(rows).toString();
          assertTrue(hasCometsExchange(plan), plan);
          assertEquals(2, plan.split("CometHashAggregate", -1).length - 1, plan);
        }
        assertEquals(0, ProcessCounters.here(Counter.SHUFFLES_STOCK));
        NativeMemory.assertAllReturned();
      }
    } finally {
      ShuffleFiles.deleteTree(folder);
    }
  }

  static List<Map<String, String>> readers() {
    return List.of(Map.of(), Map.of("spark.io.encryption.enabled", "true"));
  }

  /**
   * The rows that Comet gives with its own shuffle. A failure names the query's number; {@code
   * -Dsystemtests.query=<number>} runs that one alone, {@code -Dsystemtests.queries=<count>} more of them.
   */
  @ParameterizedTest
  @MethodSource("readers")
  void generatedQueriesHaveTheResultsOfCometsOwnShuffle(Map<String, String> settings) {
    assumeTrue(Engine.UNDER_TEST.isSluice());
    Integer one = Integer.getInteger("systemtests.query");
    List<CometQuery> queries = one != null ? List.of(new CometQuery(one))
        : IntStream.range(0, QUERIES).mapToObj(CometQuery::new).toList();
    Path folder = SparkApplication.workDir().resolve("comet-queries");
    try {
      List<Fingerprint> comets = new ArrayList<>();
      try (Neighbour comet = cometWithExchanges(); SparkApplication own = onCometsOwnShuffle()) {
        CometQuery.write(own.session(), folder.toString());
        own.session().read().parquet(folder.toString()).createOrReplaceTempView("facts");
        queries.forEach(query -> comets.add(results(query, own, new int[1])));
      }
      int[] exchanges = new int[1];
      try (Neighbour comet = cometWithExchanges(); SparkApplication application = carried().setAll(settings).start()) {
        application.session().read().parquet(folder.toString()).createOrReplaceTempView("facts");
        for (int i = 0; i < queries.size(); i++) {
          CometQuery query = queries.get(i);
          assertEquals(comets.get(i), results(query, application, exchanges), query::toString);
          NativeMemory.assertAllReturned();
        }
        assertEquals(0, ProcessCounters.here(Counter.SHUFFLES_STOCK));
      }
      assertTrue(one != null || exchanges[0] > QUERIES / 2, () -> "too few plans with Comet's exchanges: "
          + exchanges[0]);
    } finally {
      ShuffleFiles.deleteTree(folder);
    }
  }

  @SuppressWarnings("unchecked")
  private static Fingerprint results(CometQuery query, SparkApplication application, int[] exchanges) {
    Dataset<Row>[] ran = new Dataset[1];
    try {
      Fingerprint result = query.result(application.session(), ran);
      exchanges[0] += hasCometsExchange(Plans.shape(ran[0]).toString()) ? 1 : 0;
      return result;
    } catch (RuntimeException e) {
      throw new AssertionError(query.toString(), e);
    }
  }

  /** Comet's, of the jar that {@link Neighbour} has loaded. */
  private static String version() {
    Properties build = new Properties();
    try (InputStream file = Thread.currentThread().getContextClassLoader()
        .getResourceAsStream("comet-git-info.properties")) {
      if (file == null) {
        // So it is on Spark 4.1 after an application has ended. Only 0.12 is of interest.
        return "unknown";
      }
      build.load(file);
      return build.getProperty("git.build.version");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  void cometsOwnShuffleIsUntouched() {
    assumeTrue(Engine.UNDER_TEST.isSluice());
    Fingerprint expected = onStock();
    String[] plan = new String[1];
    try (Neighbour comet = Neighbour.load("comet");
        SparkApplication application = application(
            Engine.STOCK, "io.sluice.spark.SluicePlugin,org.apache.spark.CometPlugin")
            .manager(SHUFFLE_MANAGER).set("spark.comet.shuffle.enabled", "true").start()) {
      assertEquals(SHUFFLE_MANAGER, SparkEnv.get().shuffleManager().getClass().getName());
      assertEquals(expected, result(application, plan));
      assertTrue(plan[0].contains("CometExchange") || plan[0].contains("CometColumnarExchange"), plan[0]);
      assertFalse(plan[0].contains("Sluice"), plan[0]);
    }
  }
}
