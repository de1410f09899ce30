package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.metrics.Counter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.java.function.Function;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Two executors, of which one's JVM stands still ({@link JvmPause}): a task of its one core sees to that. Meanwhile
 * jobs run on the other one that read the map outputs of both, again and again. With one-sided reads they go on,
 * because a native thread of the executor that stands still answers and is read; with Spark's block transfer they wait.
 *
 * <p>Prints the lines of {@code bench/results/transport/pauses.md}.
 */
@Tag("once")
class ReadsDuringExecutorPauseTest {
  private static final Duration LIMIT = Duration.ofSeconds(180);
  private static final int LONG_MILLIS = 23_000;
  private static final int SHORT_MILLIS = 3_000;
  private static final long ROWS = 40_000;
  private static final int MAPS = 6;
  private static final int REDUCERS = 4;
  /** After a pause's recorded start, the most until all threads stand. */
  private static final int EDGE_MILLIS = 100;

  /**
   * A job that reads all map outputs.
   *
   * @param remoteBlocks that its tasks read from the other executor
   */
  private record Round(Span time, long remoteBlocks) {}

  @InAll
  @Test
  void readsGoOnWhileTheOwnersJvmIsHeldAtASafepoint() throws Exception {
    try (Reading reading = oneSided("")) {
      reading.assertGoesOn("a safepoint", SHORT_MILLIS, JvmPause::atSafepoint, SHORT_MILLIS);
    }
  }

  /** @param transports those of UCX that are allowed; empty: all */
  @InAll
  @ParameterizedTest
  @ValueSource(strings = {"", "tcp,self", "posix,tcp,self"})
  void readsGoOnForTwentySecondsAndDuringAHeapDump(String transports) throws Exception {
    try (Reading reading = oneSided(transports)) {
      reading.assertGoesOn("a safepoint", LONG_MILLIS, JvmPause::atSafepoint, LONG_MILLIS);
      reading.assertGoesOn("a heap dump", 0, JvmPause::byHeapDump, reading.dump());
    }
  }

  @InAll
  @Test
  void sparksBlockTransferWaits() throws Exception {
    try (Reading reading = new Reading(Engine.STOCK, "Netty (stock)", Map.of())) {
      reading.assertWaits("a safepoint", LONG_MILLIS, JvmPause::atSafepoint, LONG_MILLIS);
      reading.assertWaits("a heap dump", 0, JvmPause::byHeapDump, reading.dump());
    }
  }

  private static Reading oneSided(String transports) {
    OneSidedTransportTest.assumeUcx();
    Map<String, String> ucx = transports.isEmpty() ? Map.of() : Map.of("spark.executorEnv.UCX_TLS", transports);
    Reading reading =
        new Reading(Engine.UNDER_TEST, "UCX, UCX_TLS=" + (transports.isEmpty() ? "(not set)" : transports), ucx);
    try {
      OneSidedReads.await(reading.application, reading::round);
    } catch (AssertionError e) {
      reading.close();
      throw e;
    }
    return reading;
  }

  /** An application whose map outputs lie on two executors, and jobs that read them. */
  private static final class Reading implements AutoCloseable {
    private final SparkApplication application;
    private final String name;
    private final JavaRDD<InternalRow> rows;
    private final Fingerprint expected;

    Reading(Engine engine, String name, Map<String, String> settings) {
      this.name = name;
      application = SparkApplication.on(engine)
          .master(SparkApplication.CLUSTER)
          .set("spark.shuffle.readHostLocalDisk", "false")
          .set("spark.executor.extraJavaOptions", JvmPause.OPTIONS)
          .setAll(Map.of("spark.sluice.mode", "UCX"))
          .setAll(settings)
          .start()
          .awaitExecutors(2);
      Dataset<Row> texts = application.session().range(0, ROWS, 1, MAPS)
          .selectExpr("id", "sha2(CAST(id AS STRING), 512) AS text");
      rows = Plans.rows(texts.repartition(REDUCERS, col("id")));
      expected = Fingerprint.of(texts).unordered();
    }

    String dump() {
      return application.localDir().resolve("heap.hprof").toString();
    }

    private Round round() {
      long before = application.events().totals().remoteBlocks();
      long start = System.currentTimeMillis();
      assertEquals(expected, Fingerprint.of(rows).unordered());
      Span time = new Span(start, System.currentTimeMillis());
      return new Round(time, application.events().totals().remoteBlocks() - before);
    }

    <T> void assertGoesOn(String cause, int leastMillis, Function<T, Span> pause, T argument) throws Exception {
      Map<Counter, Long> before = ProcessCounters.ofExecutors(application.context());
      long within = roundsWithin(cause, leastMillis, pause, argument);
      assertTrue(within >= 1, () -> "no job was done while the other executor stood still: " + name + ", " + cause);
      Map<Counter, Long> after = ProcessCounters.ofExecutors(application.context());
      assertTrue(after.get(Counter.TRANSPORT_BLOCKS) > before.get(Counter.TRANSPORT_BLOCKS), after::toString);
      assertEquals(OneSidedReads.fetchedByNetty(before), OneSidedReads.fetchedByNetty(after), after::toString);
      assertEquals(0, after.get(Counter.TRANSPORT_PEER_FAILURES), after::toString);
      System.out.printf("  of them bytes read by CMA: %d of %d%n",
          after.get(Counter.TRANSPORT_CMA_BYTES) - before.get(Counter.TRANSPORT_CMA_BYTES),
          after.get(Counter.TRANSPORT_BYTES) - before.get(Counter.TRANSPORT_BYTES));
    }

    <T> void assertWaits(String cause, int leastMillis, Function<T, Span> pause, T argument) throws Exception {
      assertEquals(0, roundsWithin(cause, leastMillis, pause, argument), "jobs were done by Spark's block transfer");
    }

    /**
     * Runs jobs while a task lets its executor's JVM stand still.
     *
     * @param leastMillis three quarters of which the pause takes at least
     * @return the jobs that began and ended within the pause
     */
    private <T> long roundsWithin(String cause, int leastMillis, Function<T, Span> pause, T argument)
        throws Exception {
      // Runs the map tasks, if this is the first one.
      round();
      JavaSparkContext context = application.context();
      CompletableFuture<Span> paused = CompletableFuture.supplyAsync(
          () -> context.parallelize(List.of(argument), 1).map(pause).collect().get(0));
      List<Round> rounds = new ArrayList<>();
      long deadline = System.nanoTime() + LIMIT.toNanos();
      while (!paused.isDone()) {
        assertTrue(System.nanoTime() < deadline, "the executor still stands after " + LIMIT);
        rounds.add(round());
      }
      Span still = paused.get(LIMIT.toSeconds(), TimeUnit.SECONDS);
      assertTrue(still.millis() > EDGE_MILLIS && still.millis() >= leastMillis * 3L / 4,
          () -> "Java stood for " + still.millis() + " ms only");
      Span inner = new Span(still.from() + EDGE_MILLIS, still.to());
      List<Round> touched = rounds.stream().filter(round -> inner.meets(round.time)).toList();
      assertTrue(touched.stream().allMatch(round -> round.remoteBlocks > 0), () -> "nothing to read there: " + touched);
      List<Round> within = touched.stream().filter(round -> inner.contains(round.time)).toList();
      System.out.printf("%s, %s of %.1f s: %d jobs begun and done meanwhile, %d blocks read from the executor that "
          + "stood; the longest job that met it took %.2f s%n", name, cause, still.millis() / 1e3, within.size(),
          within.stream().mapToLong(Round::remoteBlocks).sum(),
          touched.stream().mapToLong(round -> round.time.millis()).max().orElse(0) / 1e3);
      return within.size();
    }

    @Override
    public void close() {
      application.close();
    }
  }
}
