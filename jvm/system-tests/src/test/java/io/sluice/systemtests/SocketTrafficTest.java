package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.sluice.spark.metrics.Counter;
import java.nio.file.Path;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * With {@code spark.io.encryption.enabled}, or Spark's TLS, no byte of a record is in what executors send each other
 * over sockets.
 * {@code traffic.py} looks at every packet of the loopback interface; skipped by name where it may not.
 */
@InAll
@Tag("once")
class SocketTrafficTest {
  /**
   * Rows have it the other way round, so that plans and closures, which go to executors too, do not. Another one in
   * each run, which no other test sends meanwhile.
   */
  private static final String REVERSED = UUID.randomUUID().toString();
  private static final String MARKER = new StringBuilder(REVERSED).reverse().toString();
  private static final Path CAPTURE = Path.of("traffic.py").toAbsolutePath();
  private static final long ROWS = 20_000;
  /** Blocks by Spark's block transfer: within a machine, one-sided reads are system calls, which no socket sees. */
  private static final Map<String, String> BY_NETTY = Map.of("spark.sluice.transport", "netty");
  /** Blocks by one-sided reads over TCP, which are no system calls with this setting of UCX. */
  private static final Map<String, String> ONE_SIDED =
      Map.of("spark.sluice.transport", "ucx", "spark.executorEnv.UCX_TLS", "tcp,self");

  @TempDir private Path folder;

  /** What a capture has seen. */
  private record Traffic(long packets, long bytes, long found, long lost) {
    static Traffic of(String line) {
      String[] numbers = line.split(" ");
      return new Traffic(Long.parseLong(numbers[0]), Long.parseLong(numbers[1]), Long.parseLong(numbers[2]),
          Long.parseLong(numbers[3]));
    }
  }

  /** Nothing but a number comes back to the driver. */
  private static long shuffled(SparkSession spark) {
    return spark.range(0, ROWS, 1, 4).selectExpr("id", "reverse(concat(id, '" + REVERSED + "')) AS text")
        .repartition(6, col("id")).selectExpr("sum(length(text)) AS total").head().getLong(0);
  }

  private Traffic trafficOf(Map<String, String> transport, boolean encrypted) throws Exception {
    return trafficOf(transport, Map.of("spark.io.encryption.enabled", Boolean.toString(encrypted)));
  }

  private Traffic trafficOf(Map<String, String> transport, Map<String, String> encryption) throws Exception {
    Path log = folder.resolve("capture.log");
    Process probe = new ProcessBuilder("python3", CAPTURE.toString(), "--check").redirectErrorStream(true).start();
    String obstacle = new String(probe.getInputStream().readAllBytes()).trim();
    assumeTrue(probe.waitFor(1, TimeUnit.MINUTES) && probe.exitValue() == 0, obstacle);
    boolean oneSided = transport == ONE_SIDED;
    if (oneSided) {
      OneSidedTransportTest.assumeUcx();
    }
    try (SparkApplication application = SparkApplication.on(Engine.UNDER_TEST).master(SparkApplication.CLUSTER)
        .set("spark.shuffle.readHostLocalDisk", "false").set("spark.shuffle.compress", "false")
        .setAll(encryption).setAll(transport).start().awaitExecutors(2)) {
      long expected = shuffled(application.session());
      if (oneSided) {
        OneSidedReads.await(application, () -> shuffled(application.session()));
      }
      Counter read = oneSided ? Counter.TRANSPORT_BLOCKS : Counter.READ_REMOTE_BYTES;
      long before = ProcessCounters.ofExecutors(application.context()).get(read);
      try (Program capture = Program.start(
          new ProcessBuilder("python3", CAPTURE.toString(), "lo", MARKER).redirectError(log.toFile()), log)) {
        capture.await("capturing");
        assertEquals(expected, shuffled(application.session()));
        capture.goOn();
        Traffic traffic = Traffic.of(capture.await("seen "));
        capture.awaitEnd();
        Map<Counter, Long> counters = ProcessCounters.ofExecutors(application.context());
        assertTrue(counters.get(read) > before, counters::toString);
        assertEquals(0, counters.get(Counter.TRANSPORT_CMA_BYTES), counters::toString);
        // Each executor reads about a half of the rows from the other.
        assertTrue(traffic.bytes() > ROWS * MARKER.length() / 4, traffic::toString);
        return traffic;
      }
    }
  }

  /** What the next tests look for is found where nothing is encrypted. */
  @Test
  void withoutEncryptionTheRowsAreInTheTraffic() throws Exception {
    Traffic traffic = trafficOf(BY_NETTY, false);
    assertTrue(traffic.found() > 0, traffic::toString);
  }

  @Test
  void withoutEncryptionTheRowsAreInTheTrafficOfOneSidedReads() throws Exception {
    Traffic traffic = trafficOf(ONE_SIDED, false);
    assertTrue(traffic.found() > 0, traffic::toString);
  }

  @Test
  void withEncryptionNoRowIsInTheTraffic() throws Exception {
    assertNoRowIsIn(trafficOf(BY_NETTY, true));
  }

  /** Spark's block transfer encrypts frames that nobody has sealed. */
  @Test
  void withTlsNoRowIsInTheTraffic() throws Exception {
    assertNoRowIsIn(trafficOf(BY_NETTY, RpcTls.in(folder).settings()));
  }

  @Test
  void withEncryptionNoRowIsInTheTrafficOfOneSidedReads() throws Exception {
    assertNoRowIsIn(trafficOf(ONE_SIDED, true));
  }

  private static void assertNoRowIsIn(Traffic traffic) {
    assumeTrue(Engine.writesFrames(), "Spark's own format is tested");
    assertEquals(0, traffic.found(), traffic::toString);
    assertEquals(0, traffic.lost(), traffic::toString);
  }
}
