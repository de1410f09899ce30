package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.xxhash64;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.sluice.nativebridge.BundledUcx;
import io.sluice.nativebridge.NativeCore;
import io.sluice.nativebridge.NativeLibrary;
import io.sluice.nativebridge.NativeTransport;
import io.sluice.spark.metrics.Counter;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.logging.log4j.Level;
import org.apache.spark.HashPartitioner;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import scala.Tuple2;

/**
 * Two executors that read each other's blocks one-sidedly: the results are stock's, and the counters show that the
 * blocks were not fetched by Spark's block transfer. Skipped by name where UCX cannot be opened.
 */
@Tag("deep")
class OneSidedTransportTest {
  private static final Duration LIMIT = Duration.ofSeconds(180);
  private static final long ROWS = 120_000;
  private static final int SLICES = 6;
  private static final int NUMBERS = 50_000;
  /** Odd, so that no two numbers become the same. */
  private static final int SCATTER = 0x9E3779B1;
  private static final Query MOVED =
      Query.moving("repartition", OneSidedTransportTest::events, rows -> rows.repartition(11, col("k")));
  private static final List<Query> QUERIES = List.of(
      MOVED,
      Query.of("join", OneSidedTransportTest::join),
      Query.ordered("sort", spark -> events(spark).orderBy(col("k"), col("id").desc())),
      Query.of("coalesced by AQE", spark -> events(spark).repartition(col("id")))
          .with("spark.sql.adaptive.enabled", "true"));

  /** Spark's encryption of files and of its own network. */
  private static final Map<String, String> ENCRYPTED_NETWORK = Map.of("spark.io.encryption.enabled", "true",
      "spark.network.crypto.enabled", "true", "spark.authenticate", "true", "spark.authenticate.secret", "not told",
      "spark.sluice.ucx.allowUnauthenticatedTcp", "true");

  private static Map<String, Fingerprint> expected;

  private static Dataset<Row> events(SparkSession spark) {
    return Tables.events(spark, ROWS, SLICES);
  }

  private static Dataset<Row> join(SparkSession spark) {
    Dataset<Row> right = events(spark).where("id % 2 = 0").select(col("id"), col("name").as("other"));
    return events(spark).hint("merge").join(right.hint("merge"), "id");
  }

  @BeforeAll
  static void reference() {
    expected = Query.onStock(QUERIES);
  }

  private static SparkApplication.Builder cluster(Map<String, String> settings) {
    return SparkApplication.on(Engine.UNDER_TEST)
        .master(SparkApplication.CLUSTER)
        .set("spark.shuffle.readHostLocalDisk", "false")
        .setAll(settings);
  }

  private static long counted(SparkApplication application, Counter counter) {
    return ProcessCounters.ofExecutors(application.context()).get(counter);
  }

  /** Executors describe themselves with their first tasks, which so are among those that read one-sidedly. */
  private static void awaitAnnouncements(SparkApplication application) {
    Await.until(LIMIT, () -> "no announcement: " + ProcessCounters.byExecutor(application.context()),
        () -> counted(application, Counter.TRANSPORT_PEERS_ANNOUNCED) >= 2);
  }

  /** Executors find each other within seconds; until then blocks travel by Spark's block transfer. */
  private static void awaitPeers(SparkApplication application) {
    Await.until(LIMIT, () -> "no block was read one-sidedly: " + ProcessCounters.ofExecutors(application.context()),
        () -> {
          assertEquals(expected.get(MOVED.name()), MOVED.run(application.session()));
          return counted(application, Counter.TRANSPORT_BLOCKS) > 0
              && counted(application, Counter.TRANSPORT_PEERS_CONNECTED) >= 2;
        });
  }

  /** The case that runs on every Spark line: Spark's formats, read by Sluice's reader. The tab Sluice says so. */
  @InAll
  @Test
  void blocksOfSparksWritersAreReadOneSidedly() {
    Map<String, String> settings = new HashMap<>(LiveTab.SETTINGS);
    settings.put("spark.sluice.mode", "RDMA");
    assertReadOneSidedly(settings, application -> {
      LiveTab tab = new LiveTab(application);
      assertExecutorsAreShown(application, tab);
      String shuffles = tab.rest("/shuffles");
      assertTrue(shuffles.contains("\"path\" : \"SPARK_ONE_SIDED\""), shuffles);
      assertFalse(shuffles.contains("\"path\" : \"SPARK\""), shuffles);
      long oneSided = sum(LiveTab.numbers(shuffles, "read.oneSidedBytes"));
      assertTrue(oneSided > 0 && oneSided <= counted(application, Counter.TRANSPORT_BYTES), shuffles);
      assertTrue(sum(LiveTab.numbers(shuffles, "read.records")) >= ROWS, shuffles);
      assertTrue(sum(LiveTab.numbers(shuffles, "write.records")) >= ROWS, "Spark's own metrics of writes: " + shuffles);
      assertTrue(tab.page("shuffles/").contains("Spark&#39;s format, read one-sidedly, because spark.sluice.codec"),
          "the path");
      String overview = tab.page("");
      assertTrue(overview.contains("Spark&#39;s sort shuffle</th><td>0</td>"), overview);
      assertFalse(overview.contains("one-sidedly</th><td>0 B"), overview);
      String diagnosis = tab.rest("/diagnosis");
      assertFalse(diagnosis.contains("spark.sluice.codec"), "nobody need change the mode: " + diagnosis);
    });
  }

  /**
   * Both executors' memory, peers, and latencies of the blocks that came from the other one. Executors describe
   * themselves with their first tasks, later once a minute: where these read nothing one-sidedly yet, it takes longer.
   */
  private static void assertExecutorsAreShown(SparkApplication application, LiveTab tab) {
    Await.until(LIMIT, () -> tab.rest("/executors"), () -> {
      boolean shown = describesBothExecutors(tab.rest("/executors"));
      if (!shown) {
        MOVED.run(application.session());
      }
      return shown;
    });
    String page = tab.page("executors/");
    assertTrue(page.contains("1 known, 1 connected"), page);
    assertTrue(page.contains("<td>executor 0</td>") && page.contains("<td>executor 1</td>"), "slowest peers: " + page);
  }

  private static boolean describesBothExecutors(String executors) {
    boolean figures = Stream.of("transport.blocks", "transport.bytes", "memory.limitBytes")
        .map(figure -> LiveTab.numbers(executors, figure))
        .allMatch(values -> values.size() == 2 && values.stream().allMatch(value -> value > 0));
    boolean peers = List.of(1L, 1L).equals(LiveTab.numbers(executors, "announced"))
        && List.of(1L, 1L).equals(LiveTab.numbers(executors, "connected"))
        && List.of(0L, 0L).equals(LiveTab.numbers(executors, "failed"));
    // Of each executor all blocks, and those of its slowest peer.
    List<Long> fetches = LiveTab.sums(executors, "counts");
    return figures && peers && fetches.size() == 4 && fetches.stream().allMatch(blocks -> blocks > 0);
  }

  private static long sum(List<Long> numbers) {
    return numbers.stream().mapToLong(Long::longValue).sum();
  }

  /** Frames that were sealed before they travel; and peers have to prove that they know the secret. */
  @Tag("once")
  @Test
  void encryptedBlocksAreReadOneSidedly() {
    Map<String, String> settings = new HashMap<>(ENCRYPTED_NETWORK);
    settings.put("spark.sluice.transport", "ucx");
    assertReadOneSidedly(settings);
  }

  /**
   * Where Spark's network is encrypted, blocks in Spark's format come by its block transfer, which authenticates them;
   * frames of the same application are authenticated themselves.
   */
  @Tag("once")
  @InAll
  @Test
  void framesAloneAreReadOneSidedlyWhereTheNetworkIsEncrypted() {
    assumeUcx();
    Map<String, String> settings = new HashMap<>(ENCRYPTED_NETWORK);
    settings.putAll(Map.of("spark.sluice.transport", "ucx", "spark.sluice.records.enabled", "false"));
    try (SparkApplication application = cluster(settings).start().awaitExecutors(2)) {
      awaitPeers(application);
      long published = counted(application, Counter.TRANSPORT_PUBLISHED);
      long blocks = counted(application, Counter.TRANSPORT_BLOCKS);
      assertEquals(NUMBERS, numbersByPartition(application).count());
      assertEquals(published, counted(application, Counter.TRANSPORT_PUBLISHED));
      assertEquals(blocks, counted(application, Counter.TRANSPORT_BLOCKS));
      assertEquals(expected.get(MOVED.name()), MOVED.run(application.session()));
      assertTrue(counted(application, Counter.TRANSPORT_BLOCKS) > blocks, "frames are read one-sidedly");
    }
  }

  @Tag("once")
  @InAll
  @Test
  void noBlockInSparksFormatIsReadOneSidedlyWhereTheNetworkIsEncrypted() {
    assumeUcx();
    Map<String, String> settings = new HashMap<>(ENCRYPTED_NETWORK);
    settings.put("spark.sluice.mode", "RDMA");
    try (SparkApplication application = cluster(settings).start().awaitExecutors(2)) {
      assertEquals(expected.get(MOVED.name()), MOVED.run(application.session()));
      assertEquals(0, counted(application, Counter.TRANSPORT_PUBLISHED));
      assertEquals(0, counted(application, Counter.TRANSPORT_BLOCKS));
    }
  }

  @InAll
  @Tag("once")
  @Test
  void encryptedBlocksAreReadOneSidedlyFromMemory() {
    assertReadOneSidedly(Map.of("spark.sluice.mode", "UCX", "spark.io.encryption.enabled", "true"), application -> {
      assertEquals(counted(application, Counter.WRITE_MAP_OUTPUTS), counted(application, Counter.CACHE_OUTPUTS));
      assertEquals(0, ProcessCounters.here(Counter.SHUFFLES_STOCK));
    });
  }

  @Tag("once")
  @Test
  void blocksAreReadOneSidedlyFromMemory() {
    assertReadOneSidedly(Map.of("spark.sluice.mode", "UCX"), application -> {
      assertEquals(counted(application, Counter.WRITE_MAP_OUTPUTS), counted(application, Counter.CACHE_OUTPUTS));
      assertEquals(0, counted(application, Counter.CACHE_MOVES));
    });
  }

  /**
   * The cache limit has room for a few of 20 or more map outputs: they are moved to the disk while others are read, and
   * while they are read themselves.
   */
  @InAll
  @Tag("once")
  @Test
  void blocksAreReadOneSidedlyWhileTheyMoveToTheDisk() {
    assertReadOneSidedly(Map.of("spark.sluice.mode", "MULTITHREADED", "spark.sluice.store", "cache",
        "spark.sluice.cache.hostLimit", "1m", "spark.sluice.codec.level", "plain", "spark.sluice.transport", "auto",
        "spark.sluice.reader.threads", "0"), application -> {
          assertTrue(counted(application, Counter.CACHE_OUTPUTS) > 0, "nothing was kept in memory");
          assertTrue(counted(application, Counter.CACHE_MOVES) > 0,
              () -> "nothing moved: " + ProcessCounters.byExecutor(application.context()));
          assertEquals(0, counted(application, Counter.CACHE_MOVE_FAILURES));
        });
  }

  /**
   * With {@code spark.sluice.enabled=false} a session's new shuffles come by Spark's client and are not published;
   * those made before are read one-sidedly as before; {@code true} brings all back. Another session does not notice.
   */
  @Tag("once")
  @VariantsInAll
  @ParameterizedTest
  @ValueSource(strings = {"RDMA", "UCX"})
  void aSessionTurnsOneSidedReadsOffAndOn(String mode) {
    assumeUcx();
    try (SparkApplication application = cluster(Map.of("spark.sluice.mode", mode)).start().awaitExecutors(2)) {
      awaitPeers(application);
      SparkSession session = application.session();
      JavaPairRDD<Integer, Integer> before = numbersByPartition(application);
      assertEquals(NUMBERS, before.count());
      session.conf().set("spark.sluice.enabled", "false");
      long published = counted(application, Counter.TRANSPORT_PUBLISHED);
      long blocks = counted(application, Counter.TRANSPORT_BLOCKS);
      assertEquals(expected.get(MOVED.name()), MOVED.run(session));
      assertEquals(published, counted(application, Counter.TRANSPORT_PUBLISHED));
      assertEquals(blocks, counted(application, Counter.TRANSPORT_BLOCKS));
      assertEquals(NUMBERS, before.count());
      assertTrue(counted(application, Counter.TRANSPORT_BLOCKS) > blocks, "older shuffles are read as before");
      blocks = counted(application, Counter.TRANSPORT_BLOCKS);
      assertEquals(expected.get(MOVED.name()), MOVED.run(session.newSession()));
      assertTrue(counted(application, Counter.TRANSPORT_BLOCKS) > blocks, "another session has it on");
      session.conf().set("spark.sluice.enabled", "true");
      blocks = counted(application, Counter.TRANSPORT_BLOCKS);
      assertEquals(expected.get(MOVED.name()), MOVED.run(session));
      assertTrue(counted(application, Counter.TRANSPORT_BLOCKS) > blocks, "it is on again");
      assertEquals(0, application.events().retriedStages());
      assertEquals(mode.equals("RDMA") && lacksRdma() ? 2 : 0,
          counted(application, Counter.TRANSPORT_WITHOUT_RDMA), "executors that say that RDMA is not used");
    }
  }

  /** Whether the executors here read over TCP, though nobody has asked for it: there is no RDMA device. */
  static boolean lacksRdma() {
    return !Files.isDirectory(Path.of("/sys/class/infiniband")) && System.getenv("UCX_TLS") == null;
  }

  private static JavaPairRDD<Integer, Integer> numbersByPartition(SparkApplication application) {
    return application.context().parallelize(IntStream.range(0, NUMBERS).boxed().toList(), SLICES)
        .mapToPair(n -> new Tuple2<>(n, n)).partitionBy(new HashPartitioner(5));
  }

  private static void assertReadOneSidedly(Map<String, String> settings) {
    assertReadOneSidedly(settings, application -> {});
  }

  private static void assertReadOneSidedly(Map<String, String> settings, Consumer<SparkApplication> more) {
    assumeUcx();
    try (SparkApplication application = cluster(settings).start().awaitExecutors(2)) {
      awaitAnnouncements(application);
      awaitPeers(application);
      long blocks = counted(application, Counter.TRANSPORT_BLOCKS);
      for (Query query : QUERIES) {
        assertEquals(expected.get(query.name()), query.run(application.session()), query.name());
        long after = counted(application, Counter.TRANSPORT_BLOCKS);
        assertTrue(after > blocks, () -> "no block of " + query + " was read one-sidedly: "
            + ProcessCounters.ofExecutors(application.context()));
        blocks = after;
      }
      assertRecordsAreSorted(application);
      assertTrue(counted(application, Counter.TRANSPORT_BLOCKS) > blocks,
          "no block of the records was read one-sidedly");
      assertEquals(0, counted(application, Counter.TRANSPORT_PEER_FAILURES));
      assertEquals(0, counted(application, Counter.TRANSPORT_PUBLISH_FAILURES));
      assertEquals(0, counted(application, Counter.TRANSPORT_NETTY_NOT_FOUND));
      assertReadNear(application);
      assertEquals(0, application.events().retriedStages());
      more.accept(application);
    }
  }

  /** Executors of one machine read each other by system calls, where those are permitted. */
  private static void assertReadNear(SparkApplication application) {
    String obstacle = whyNotNear();
    if (obstacle == null) {
      assertTrue(counted(application, Counter.TRANSPORT_CMA_BYTES) > 0, () -> "nothing was read by system calls: "
          + ProcessCounters.ofExecutors(application.context()));
    } else {
      System.err.println("not looked at: whether executors read each other by system calls: " + obstacle);
    }
  }

  private static String whyNotNear() {
    try {
      Path scope = Path.of("/proc/sys/kernel/yama/ptrace_scope");
      if (Files.exists(scope) && Files.readString(scope).trim().compareTo("1") > 0) {
        return "ptrace_scope forbids it";
      }
      boolean filtered =
          Files.readAllLines(Path.of("/proc/self/status")).stream().anyMatch(line -> line.matches("Seccomp:\\s*[12]"));
      return filtered ? "a seccomp filter may forbid it" : System.getenv("UCX_TLS") == null ? null : "UCX_TLS is set";
    } catch (IOException e) {
      return e.toString();
    }
  }

  private static void assertRecordsAreSorted(SparkApplication application) {
    List<Tuple2<Integer, String>> pairs = new ArrayList<>();
    for (int i = 0; i < NUMBERS; i++) {
      pairs.add(new Tuple2<>(i * SCATTER, "value " + i));
    }
    List<Tuple2<Integer, String>> sorted =
        application.context().parallelizePairs(pairs, SLICES).sortByKey(true, 5).collect();
    pairs.sort((a, b) -> Integer.compare(a._1(), b._1()));
    assertEquals(pairs, sorted);
  }

  /** One block is larger than the memory limit of all blocks that are received one-sidedly, 3 MiB. */
  @InAll
  @Tag("once")
  @Test
  void blocksLargerThanTheReceiveLimitComeByNetty() {
    assumeUcx();
    Query large = Query.of("large blocks",
        spark -> spark.range(0, 3_000_000, 1, 3).select(col("id"), xxhash64(col("id")).as("hash")).repartition(1));
    Fingerprint stock = Query.onStock(List.of(large)).get(large.name());
    try (SparkApplication application = cluster(
        Map.of("spark.sluice.transport", "ucx", "spark.reducer.maxSizeInFlight", "1m")).start().awaitExecutors(2)) {
      awaitPeers(application);
      long blocks = counted(application, Counter.TRANSPORT_BLOCKS);
      Await.until(LIMIT, () -> "all was received: " + ProcessCounters.byExecutor(application.context()), () -> {
        assertEquals(stock, large.run(application.session()));
        return counted(application, Counter.TRANSPORT_NETTY_NO_MEMORY) > 0;
      });
      assertEquals(expected.get(MOVED.name()), MOVED.run(application.session()));
      assertTrue(counted(application, Counter.TRANSPORT_BLOCKS) > blocks, "small blocks still fit");
      assertEquals(0, counted(application, Counter.TRANSPORT_PEER_FAILURES));
    }
  }

  /** A reduce task asks an executor for blocks of 30 files at once, of which 16 may be mapped. */
  @InAll
  @Tag("once")
  @Test
  void blocksBeyondTheLimitOfMappingsComeByNetty() {
    assumeUcx();
    Query manyFiles = manyFiles();
    Fingerprint stock = Query.onStock(List.of(manyFiles)).get(manyFiles.name());
    try (SparkApplication application = cluster(Map.of("spark.sluice.transport", "ucx",
        "spark.sluice.transport.maxMappedRegions", "16")).start().awaitExecutors(2)) {
      awaitPeers(application);
      long blocks = counted(application, Counter.TRANSPORT_BLOCKS);
      assertEquals(stock, manyFiles.run(application.session()));
      assertTrue(counted(application, Counter.TRANSPORT_NETTY_PEER_BUSY) > 0,
          () -> "all was mapped: " + ProcessCounters.byExecutor(application.context()));
      assertTrue(counted(application, Counter.TRANSPORT_BLOCKS) > blocks, "nothing was mapped");
      assertEquals(0, counted(application, Counter.TRANSPORT_PEER_FAILURES));
      assertEquals(0, application.events().retriedStages());
    }
  }

  private static Query manyFiles() {
    return Query.moving(
        "many files", spark -> Tables.events(spark, ROWS, 60), rows -> rows.repartition(11, col("k")));
  }

  @InAll
  @Tag("once")
  @Test
  void aLimitOfMappingsThatTheSystemDoesNotAllowIsReducedWithAWarning() throws IOException {
    assumeUcx();
    long allowed = Long.parseLong(Files.readString(Path.of("/proc/sys/vm/max_map_count")).trim());
    assumeTrue(allowed / 2 < 10_000_000, "this system allows ten million mappings");
    ExecutorLogs logs = ExecutorLogs.in("too-many-mappings");
    Fingerprint stock = Query.onStock(List.of(manyFiles())).get(manyFiles().name());
    try (SparkApplication application = cluster(Map.of("spark.sluice.transport", "ucx",
        "spark.sluice.transport.maxMappedRegions", "10000000")).setAll(logs.settings()).start().awaitExecutors(2)) {
      awaitPeers(application);
      ProcessCounters.byExecutor(application.context()).keySet().forEach(id -> {
        List<String> warnings = logs.lines(id, "The one-sided transport is limited on this machine");
        assertEquals(1, warnings.size(), warnings::toString);
        assertTrue(warnings.get(0).contains("vm.max_map_count"), warnings::toString);
      });
      assertEquals(stock, manyFiles().run(application.session()));
    }
  }

  /**
   * With and without UCX: blocks that cannot be read one-sidedly are fetched by Netty, and each executor logs the
   * reason once.
   */
  @Tag("once")
  @Test
  void withoutUcxBlocksComeByNetty() {
    String missing = "/nonexistent/libucp.so.0";
    assertReadBySpark("without-ucx", missing,
        Map.of("spark.sluice.transport", "ucx", "spark.sluice.ucx.library", missing));
  }

  /** The only port on which UCX may listen is taken, on all of the machine's interfaces. */
  @InAll
  @Tag("once")
  @Test
  void withoutAFreePortBlocksComeByNetty() throws IOException {
    assumeUcx();
    try (ServerSocket taken = new ServerSocket(0)) {
      int port = taken.getLocalPort();
      assertReadBySpark("without-a-port", "making a worker", Map.of("spark.sluice.mode", "UCX",
          "spark.sluice.transport", "ucx", "spark.executorEnv.UCX_TCP_PORT_RANGE", port + "-" + port));
    }
  }

  /** UCX may use only a network interface that is not there: it starts, and reaches no other process. */
  @InAll
  @Tag("once")
  @Test
  void withoutTheInterfaceThatIsNamedBlocksComeByNetty() {
    assumeUcx();
    assertReadBySpark("without-an-interface", "UCX_NET_DEVICES=nosuchnic0", Map.of("spark.sluice.mode", "UCX",
        "spark.sluice.transport", "ucx", "spark.executorEnv.UCX_NET_DEVICES", "nosuchnic0"));
  }

  /** @param reason a part of each executor's one warning */
  private static void assertReadBySpark(String name, String reason, Map<String, String> settings) {
    ExecutorLogs logs = ExecutorLogs.in(name);
    try (SparkApplication application = cluster(settings).setAll(logs.settings()).start().awaitExecutors(2)) {
      for (Query query : QUERIES) {
        assertEquals(expected.get(query.name()), query.run(application.session()), query.name());
      }
      assertRecordsAreSorted(application);
      assertEquals(0, application.events().retriedStages());
      assertTrue(application.events().totals().remoteBlocks() > 0);
      if (Engine.UNDER_TEST.isSluice()) {
        ProcessCounters.byExecutor(application.context()).forEach((id, counters) -> {
          assertEquals(1, counters.get(Counter.TRANSPORT_UNAVAILABLE), counters::toString);
          assertEquals(0, counters.get(Counter.TRANSPORT_BLOCKS), counters::toString);
          List<String> warnings = logs.lines(id, "blocks travel by Spark's block transfer on this executor");
          assertEquals(1, warnings.size(), warnings::toString);
          assertTrue(warnings.get(0).contains(reason), warnings::toString);
        });
      }
    }
  }

  /**
   * An executor dies: tasks that read from it fall back to Spark's block transfer, which fails too; Spark runs the lost
   * map tasks again.
   */
  @Tag("once")
  @Test
  void theJobSurvivesAnExecutorsDeath() {
    assumeUcx();
    try (SparkApplication application = cluster(Map.of("spark.sluice.transport", "ucx")).start().awaitExecutors(2)) {
      awaitPeers(application);
      Path marker = application.localDir().resolve("died");
      ExecutorDeath.register(application.session(), "fatal", marker, ROWS / 2);
      Dataset<Row> rows = events(application.session());
      Fingerprint all = Fingerprint.of(rows.select("id", "k", "name")).unordered();
      Dataset<Row> read = rows.repartition(8, col("k")).selectExpr("fatal(id) AS id", "k", "name");
      assertEquals(all, Fingerprint.of(read).unordered());
      assertTrue(Files.exists(marker), "no executor died");
      awaitPeers(application);
    }
  }

  @Tag("once")
  @Test
  void aRefusedTransportLogsOneWarning() {
    assumeTrue(Engine.UNDER_TEST.isSluice(), "the stock manager has no settings of Sluice's");
    try (LogCapture log = LogCapture.open();
        SparkApplication application = cluster(
            Map.of("spark.sluice.transport", "ucx", "spark.shuffle.useOldFetchProtocol", "true")).start()
            .awaitExecutors(2)) {
      assertEquals(expected.get(MOVED.name()), MOVED.run(application.session()));
      assertEquals(0, counted(application, Counter.TRANSPORT_BLOCKS));
      assertEquals(1, log.messages(Level.WARN, "useOldFetchProtocol").size());
    }
  }

  /** Skips the test where UCX cannot be opened, with the reason in the message. */
  static void assumeUcx() {
    assumeTrue(Engine.UNDER_TEST.isSluice(), "the stock manager has no transport");
    String reason = whyNoUcx();
    assumeTrue(reason == null, () -> "UCX cannot be opened here: " + reason);
  }

  /** Why UCX cannot be opened; null if it can. */
  static String whyNoUcx() {
    NativeLibrary.Status library = NativeLibrary.load("");
    if (!library.available()) {
      return library.detail();
    }
    try (BundledUcx bundled = BundledUcx.unpack()) {
      long transport = NativeTransport.start("", bundled.folder(), new byte[0], 1000, 1L << 30, 2L << 30, 16_384, 1024);
      if (transport < 0) {
        return NativeCore.lastErrorMessage();
      }
      NativeTransport.stop(transport);
      return null;
    } catch (IOException | LinkageError e) {
      return "the native library has no transport: " + e;
    }
  }
}
