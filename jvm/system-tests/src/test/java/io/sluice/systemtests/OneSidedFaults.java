package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.SluiceShuffles;
import io.sluice.spark.metrics.Counter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/**
 * Faults between two executors that read each other one-sidedly: the blocks are fetched by Spark's block transfer, the
 * result is right, and afterwards blocks are read one-sidedly again. Skipped by name where UCX cannot be opened.
 */
@Tag("once")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class OneSidedFaults {
  static final Duration LIMIT = Duration.ofSeconds(180);
  private static final long ROWS = 60_000;
  static final int MAPS = 6;
  private static final int REDUCERS = 8;
  private static final int ATTEMPT = 3;
  private static final String GIVEN_UP = "cannot be read one-sidedly";

  private SparkApplication application;
  private ExecutorLogs logs;

  /** The application's settings beside those of the fault tests. */
  abstract Map<String, String> settings() throws IOException;

  final SparkApplication application() {
    return application;
  }

  @BeforeAll
  void start() throws IOException {
    OneSidedTransportTest.assumeUcx();
    logs = ExecutorLogs.in(getClass().getSimpleName());
    application = SparkApplication.on(Engine.UNDER_TEST)
        .master(SparkApplication.CLUSTER)
        .set("spark.shuffle.readHostLocalDisk", "false")
        .set("spark.sluice.transport.timeout", "3s")
        .set("spark.sluice.transport.retryDelay", "1s")
        .setAll(logs.settings())
        .setAll(settings())
        .start()
        .awaitExecutors(2);
    StageAttempt.register(application.session(), "attempt");
  }

  @AfterAll
  void stop() {
    if (application != null) {
      application.close();
    }
  }

  /**
   * A stopped executor: its blocks are fetched by Spark's block transfer once the process continues; one failure is
   * counted, and it is connected again.
   */
  @Test
  void aPeerStoppedForLongerThanTheTimeout() throws Exception {
    JavaRDD<InternalRow> rows = Plans.rows(events().repartition(REDUCERS, col("k")));
    Fingerprint expected = Fingerprint.of(events()).unordered();
    OneSidedReads.await(application, () -> assertEquals(expected, Fingerprint.of(rows).unordered()));
    Map<String, Long> processes = ExecutorSurvey.ask(application.context(), () -> ProcessHandle.current().pid());
    List<String> executors = new ArrayList<>(processes.keySet());
    String still = executors.get(0);
    String reader = executors.get(1);
    Map<String, Map<Counter, Long>> before = ProcessCounters.byExecutor(application.context());
    int warnings = logs.lines(reader, GIVEN_UP).size();
    int failures = application.events().fetchFailures().size();

    CompletableFuture<Fingerprint> job;
    try (StoppedProcess stopped = StoppedProcess.stop(processes.get(still))) {
      job = CompletableFuture.supplyAsync(() -> Fingerprint.of(rows).unordered());
      Await.until(LIMIT, () -> "executor " + still + ", " + stopped + ", is not given up",
          () -> logs.lines(reader, GIVEN_UP).size() > warnings);
    }

    assertEquals(expected, job.get(LIMIT.toSeconds(), TimeUnit.SECONDS));
    assertEquals(failures, application.events().fetchFailures().size(), "Spark saw fetch failures");
    Map<String, Map<Counter, Long>> after = ProcessCounters.byExecutor(application.context());
    assertTrue(grown(Counter.TRANSPORT_NETTY_TIMEOUT, before.get(reader), after.get(reader)) > 0, after::toString);
    assertEquals(1, grown(Counter.TRANSPORT_PEER_FAILURES, before.get(reader), after.get(reader)));
    assertEquals(warnings + 1, logs.lines(reader, GIVEN_UP).size());
    // The stopped executor was told that its connection was given up; otherwise its own reads would wait for their
    // timeout.
    assertEquals(0, grown(Counter.TRANSPORT_NETTY_TIMEOUT, before.get(still), after.get(still)));
    OneSidedReads.await(application, () -> assertEquals(expected, Fingerprint.of(rows).unordered()));
  }

  /**
   * The executors and their connections stay, and so do the old outputs in their memory; no task reads those any more.
   */
  @Test
  void recomputedMapOutputs() {
    JavaRDD<InternalRow> rows = Plans.rows(
        events().selectExpr("id", "k", "name", "attempt(id) AS attempt").repartition(REDUCERS, col("k")));
    Fingerprint expected = Fingerprint.of(events().selectExpr("id", "k", "name", "0 AS attempt")).unordered();
    OneSidedReads.await(application, () -> assertEquals(expected, Fingerprint.of(rows).unordered()));

    deleteNewestShuffle();

    Map<Integer, Long> byAttempt = rows.map(row -> row.getInt(ATTEMPT)).countByValue();
    assertFalse(byAttempt.containsKey(0), () -> "rows by the attempt that made them: " + byAttempt);
    assertEquals(ROWS, byAttempt.values().stream().mapToLong(Long::longValue).sum());
    assertTrue(application.events().retriedStages() > 0, "no stage was retried");
    JavaRDD<InternalRow> unmarked = rows.map(OneSidedFaults::withoutAttempt);
    OneSidedReads.await(application, () -> assertEquals(expected, Fingerprint.of(unmarked).unordered()));
  }

  /**
   * Two tasks have begun to read when the shuffle is removed, in the other executor's memory too; those that begin
   * later ask for what they were told of before. They get a fetch failure, and the outputs are made again.
   */
  final void readersThatAreLateForARemovedShuffle() throws Exception {
    Path gate = Files.createDirectory(application.localDir().resolve("late"));
    Gate.register(application.session(), "late", gate);
    Dataset<Row> data = events().repartition(REDUCERS, col("k")).selectExpr("late(id) AS id", "k", "name");
    Fingerprint expected = Fingerprint.of(events()).unordered();
    int retried = application.events().retriedStages();
    CompletableFuture<Fingerprint> job = CompletableFuture.supplyAsync(() -> Fingerprint.of(data).unordered());
    List<Path> outputs;
    try {
      Gate.awaitReached(gate);
      outputs = ShuffleFiles.newestShuffle(application.localDir());
      assertEquals(MAPS, outputs.size());
      assertEquals(1, SluiceShuffles.remove(data));
      Await.until(LIMIT, () -> "of " + outputs + " some are there",
          () -> outputs.stream().noneMatch(file -> Files.exists(file, LinkOption.NOFOLLOW_LINKS)));
    } finally {
      Gate.open(gate);
    }
    assertEquals(expected, job.get(LIMIT.toSeconds(), TimeUnit.SECONDS));
    assertTrue(application.events().retriedStages() > retried, "no stage was retried");
    JavaRDD<InternalRow> rows = Plans.rows(data);
    OneSidedReads.await(application, () -> assertEquals(expected, Fingerprint.of(rows).unordered()));
  }

  private static long grown(Counter counter, Map<Counter, Long> before, Map<Counter, Long> after) {
    return after.get(counter) - before.get(counter);
  }

  final Dataset<Row> events() {
    return Tables.events(application.session(), ROWS, MAPS).select("id", "k", "name");
  }

  private static InternalRow withoutAttempt(InternalRow row) {
    InternalRow copy = row.copy();
    copy.setInt(ATTEMPT, 0);
    return copy;
  }

  private void deleteNewestShuffle() {
    try {
      for (Path data : ShuffleFiles.newestShuffle(application.localDir())) {
        Files.delete(ShuffleFiles.index(application.localDir(), data));
        Files.delete(data);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
