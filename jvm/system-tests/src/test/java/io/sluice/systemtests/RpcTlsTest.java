package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.sluice.spark.metrics.Counter;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.apache.logging.log4j.Level;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * {@code spark.ssl.rpc.enabled}, by which Spark 4 encrypts RPC and block transfer between processes: stock's rows,
 * and nothing goes one-sidedly but frames that are sealed.
 */
@InAll
@Timeout(600)
class RpcTlsTest {
  private static final long ROWS = 60_000;
  private static final Query MOVED =
      Query.moving("repartition", RpcTlsTest::events, rows -> rows.repartition(7, col("k")));
  private static final List<Query> QUERIES = List.of(
      MOVED,
      Query.ordered("sort", spark -> events(spark).orderBy(col("k"), col("id").desc())),
      Query.of("aggregate", spark -> events(spark).groupBy("k").count()).with("spark.sql.adaptive.enabled", "true"));

  @TempDir private static Path folder;
  private static RpcTls tls;
  private static Map<String, Fingerprint> expected;

  private static Dataset<Row> events(SparkSession spark) {
    return Tables.events(spark, ROWS, 4);
  }

  @BeforeAll
  static void reference() throws Exception {
    assumeFalse(Tables.isSpark3(), "Spark 3 has no TLS between executors");
    tls = RpcTls.in(folder);
    expected = Query.onStock(QUERIES);
  }

  private static SparkApplication.Builder cluster(String mode) {
    return SparkApplication.on(Engine.UNDER_TEST).master(SparkApplication.CLUSTER)
        .set("spark.shuffle.readHostLocalDisk", "false").setAll(tls.settings())
        .setAll(Map.of("spark.sluice.mode", mode));
  }

  private static void assertStocksRows(SparkApplication application) {
    for (Query query : QUERIES) {
      assertEquals(expected.get(query.name()), query.run(application.session()), query.name());
    }
    assertEquals(0, application.events().retriedStages());
    assertTrue(application.events().totals().remoteBlocks() > 0);
  }

  @ParameterizedTest
  @ValueSource(strings = {"MULTITHREADED", "CACHE_ONLY"})
  void blocksTravelByTls(String mode) throws IOException {
    try (SparkApplication application = cluster(mode).start().awaitExecutors(2)) {
      tls.assertServersSpeakIt(application);
      assertStocksRows(application);
      if (Engine.UNDER_TEST.isSluice()) {
        assertEquals(0, ProcessCounters.here(Counter.SHUFFLES_STOCK));
        Map<Counter, Long> executors = ProcessCounters.ofExecutors(application.context());
        assertTrue(executors.get(Counter.READ_REMOTE_BLOCKS) > 0, executors::toString);
        assertEquals(mode.equals("CACHE_ONLY"), executors.get(Counter.CACHE_OUTPUTS) > 0, executors::toString);
        assertEquals(0, executors.get(Counter.TRANSPORT_BLOCKS));
        NativeMemory.assertAllReturnedBy(application);
      }
    }
  }

  /** What {@link RpcTls#assertServersSpeakIt} asks for is not there without the settings. */
  @Test
  void withoutTheSettingsNoServerSpeaksTls() {
    try (SparkApplication application = SparkApplication.on(Engine.UNDER_TEST).start()) {
      assertThrows(IOException.class, () -> tls.assertServersSpeakIt(application));
    }
  }

  /** Frames that are not sealed, and blocks in Spark's format, sealed or not. */
  @ParameterizedTest
  @CsvSource({"UCX, false", "RDMA, false", "RDMA, true"})
  void otherBlocksAreNotReadOneSidedly(String mode, boolean encrypted) throws IOException {
    OneSidedTransportTest.assumeUcx();
    try (LogCapture log = LogCapture.open(); SparkApplication application = cluster(mode)
        .set("spark.io.encryption.enabled", Boolean.toString(encrypted)).start().awaitExecutors(2)) {
      List<String> warnings = log.messages(Level.WARN, "not one-sidedly, because spark.ssl.rpc.enabled is true");
      assertEquals(1, warnings.size(), warnings::toString);
      tls.assertServersSpeakIt(application);
      assertStocksRows(application);
      Map<Counter, Long> executors = ProcessCounters.ofExecutors(application.context());
      assertEquals(0, executors.get(Counter.TRANSPORT_PUBLISHED), executors::toString);
      assertEquals(0, executors.get(Counter.TRANSPORT_BLOCKS), executors::toString);
    }
  }

  @Test
  void sealedFramesAreReadOneSidedly() throws IOException {
    assumeTrue(Engine.UNDER_TEST.isSluice());
    OneSidedTransportTest.assumeUcx();
    try (LogCapture log = LogCapture.open(); SparkApplication application = cluster("UCX")
        .set("spark.io.encryption.enabled", "true").start().awaitExecutors(2)) {
      assertEquals(List.of(), log.messages(Level.WARN, "spark.ssl.rpc.enabled"));
      tls.assertServersSpeakIt(application);
      OneSidedReads.await(application,
          () -> assertEquals(expected.get(MOVED.name()), MOVED.run(application.session())));
      assertStocksRows(application);
      Map<Counter, Long> executors = ProcessCounters.ofExecutors(application.context());
      assertEquals(0, executors.get(Counter.TRANSPORT_PEER_FAILURES), executors::toString);
    }
  }
}
