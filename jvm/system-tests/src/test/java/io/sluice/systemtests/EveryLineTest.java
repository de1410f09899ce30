package io.sluice.systemtests;

import static org.apache.spark.sql.functions.count;
import static org.apache.spark.sql.functions.sum;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.sluice.nativebridge.FrameHeader;
import io.sluice.nativebridge.NativeCore;
import io.sluice.spark.SluiceShuffles;
import io.sluice.spark.metrics.Counter;
import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.util.MutableURLClassLoader;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestMethodOrder;
import scala.Tuple2;

/**
 * The short test that runs on every Spark line and on every Java version: one SQL job whose blocks are damaged and one
 * RDD job whose executor dies, each compared with Spark's own shuffle, executions whose outputs go when they end, and
 * the SQL job with encryption.
 */
@Tag("everyLine")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class EveryLineTest {
  private static final long ROWS = 60_000;
  private static final int SLICES = 4;
  private static final int PAIRS = 20_000;
  /** Coprime to the number of pairs. */
  private static final int SCATTER = 7919;
  private static final int FATAL_KEY = 12_345;
  private static final Duration CLEANUP_LIMIT = Duration.ofSeconds(60);

  private Fingerprint stockRows;
  private List<Tuple2<Integer, String>> stockPairs;
  private SparkApplication application;

  @BeforeAll
  void start() {
    try (SparkApplication stock = SparkApplication.on(Engine.STOCK).start()) {
      stockRows = Fingerprint.of(query(stock)).unordered();
      stockPairs = pairs(stock, "").collect();
    }
    // Map outputs in memory are on no disk, so they cannot be damaged there.
    application = SparkApplication.on(Engine.UNDER_TEST).master(SparkApplication.CLUSTER)
        .setAll(Map.of("spark.sluice.store", "files", "spark.sluice.sql.cleanup", "unreferenced")).start();
  }

  @AfterAll
  void stop() {
    if (application != null) {
      application.close();
      application = null;
    }
  }

  @Test
  void executorsRunOnTheRequestedJava() {
    String asked = System.getProperty("tests.java", java());
    assertEquals(asked, java());
    application.awaitExecutors(2);
    Map<String, String> found = ExecutorSurvey.ask(application.context(), EveryLineTest::java);
    assertEquals(Set.of(asked), Set.copyOf(found.values()), found::toString);
  }

  /**
   * The classes for Java 17 or for Java 8: the jar has both, and the class path and the class loader of {@code --jars}
   * choose between them.
   */
  @Test
  void loadedClassesAreThoseForThisJavaVersion() throws IOException {
    assumeTrue(Engine.UNDER_TEST.isSluice(), "Spark's own classes are of one kind");
    URL jar = NativeCore.class.getProtectionDomain().getCodeSource().getLocation();
    String name = NativeCore.class.getName().replace('.', '/') + ".class";
    int expected = Integer.parseInt(java()) >= 17 ? 61 : 52;
    try (MutableURLClassLoader ofJars = new MutableURLClassLoader(new URL[] {jar}, null)) {
      for (ClassLoader loader : List.of(NativeCore.class.getClassLoader(), ofJars)) {
        try (InputStream in = loader.getResourceAsStream(name)) {
          assertEquals(expected, in.readNBytes(8)[7], loader::toString);
        }
      }
    }
  }

  @Test
  void joinWithADamagedBlockGivesStocksRows() throws IOException {
    // The second action on the same rows reads the same shuffles again.
    JavaRDD<InternalRow> rows = Plans.rows(query(application));
    assertEquals(stockRows, Fingerprint.of(rows).unordered());
    if (Engine.writesFrames()) {
      FrameHeader header = firstHeader(ShuffleFiles.newestShuffle(application.localDir()).get(0));
      assertTrue(header.records() > 0 && !header.isSealed(), header::toString);
    }
    int retriesBefore = application.events().retriedStages();
    Damage.BYTE_IN_THE_MIDDLE_FLIPPED.inflictBelow(application.localDir());
    assertEquals(stockRows, Fingerprint.of(rows).unordered());
    assertTrue(application.events().retriedStages() > retriesBefore, "no stage was retried");
    NativeMemory.assertAllReturnedBy(application);
  }

  @Test
  void sortWithADeadExecutorGivesStocksRows() {
    Path marker = application.localDir().resolve("died");
    assertEquals(stockPairs, pairs(application, marker.toString()).collect());
    assertTrue(Files.exists(marker), "no executor died");
    NativeMemory.assertAllReturnedBy(application);
  }

  /**
   * Spark itself can do that since 4.1. A plan that can run again keeps its outputs until the program gives them up.
   */
  @Test
  void outputsOfAnExecutionGoWhenItHasEnded() {
    assumeTrue(Engine.UNDER_TEST.isSluice(), "the setting is Sluice's");
    application.awaitExecutors(2);
    Set<Path> before = Set.copyOf(outputs());
    long removed = ProcessCounters.here(Counter.CLEANUP_SHUFFLES);
    Dataset<Row> kept = query(application);
    assertEquals(ROWS, kept.collectAsList().size());
    assertTrue(outputs().stream().anyMatch(file -> !before.contains(file)), "collect can run the plan again");
    assertTrue(SluiceShuffles.remove(kept) > 0);
    assertEquals(ROWS, query(application).count());
    Await.until(CLEANUP_LIMIT, () -> "there are " + outputs() + " beside " + before,
        () -> outputs().stream().allMatch(before::contains));
    assertTrue(ProcessCounters.here(Counter.CLEANUP_SHUFFLES) >= removed + 4, "of the plan of each action");
    assertEquals(ROWS, kept.collectAsList().size());
  }

  /** The last test, because it ends the application of the others: a process has one at a time. */
  @Order(Integer.MAX_VALUE)
  @Test
  void encryptedJoinGivesStocksRows() throws IOException {
    stop();
    try (SparkApplication encrypted = SparkApplication.on(Engine.UNDER_TEST)
        .setAll(Map.of("spark.sluice.store", "files", "spark.io.encryption.enabled", "true")).start()) {
      JavaRDD<InternalRow> rows = Plans.rows(query(encrypted));
      assertEquals(stockRows, Fingerprint.of(rows).unordered());
      if (Engine.writesFrames()) {
        assertTrue(ProcessCounters.here(Counter.SHUFFLES_ROWS) > 0);
        assertEquals(0, ProcessCounters.here(Counter.SHUFFLES_STOCK));
        List<Path> files = ShuffleFiles.data(encrypted.localDir());
        assertFalse(files.isEmpty());
        for (Path file : files) {
          assertTrue(firstHeader(file).isSealed(), file::toString);
        }
      }
      // As long as somebody has the rows, Spark's cleaner leaves the files of their shuffles.
      assertTrue(rows.getNumPartitions() > 1);
      NativeMemory.assertAllReturned();
    }
  }

  /** Of the map tasks of all executors, also of one that has died. */
  private List<Path> outputs() {
    return ShuffleFiles.named(application.localDir(), "shuffle_.*");
  }

  /** Rows joined with totals of their groups. */
  private static Dataset<Row> query(SparkApplication application) {
    Dataset<Row> events = Tables.events(application.session(), ROWS, SLICES);
    Dataset<Row> totals = events.groupBy("k").agg(sum("y").as("total"), count("id").as("n"));
    return events.join(totals, "k").select("id", "total", "n", "name", "x");
  }

  /** Sorted by key; the executor that has sorted the fatal number dies, unless {@code marker} is empty. */
  private static JavaPairRDD<Integer, String> pairs(SparkApplication application, String marker) {
    List<Integer> numbers = IntStream.range(0, PAIRS).boxed().collect(Collectors.toList());
    return application.context().parallelize(numbers, SLICES)
        .mapToPair(n -> new Tuple2<>(n * SCATTER % PAIRS, "value " + n))
        .sortByKey(true, SLICES)
        .mapToPair(pair -> dieOnceAt(pair, marker));
  }

  private static Tuple2<Integer, String> dieOnceAt(Tuple2<Integer, String> pair, String marker) throws Exception {
    if (pair._1() == FATAL_KEY && !marker.isEmpty()) {
      new ExecutorDeath(Path.of(marker), FATAL_KEY).call((long) FATAL_KEY);
    }
    return pair;
  }

  /** 8, 11, 17, … */
  private static String java() {
    return System.getProperty("java.specification.version").replace("1.", "");
  }

  private static FrameHeader firstHeader(Path data) throws IOException {
    try (InputStream in = Files.newInputStream(data)) {
      return FrameHeader.parse(in.readNBytes(FrameHeader.BYTES), 0);
    }
  }
}
