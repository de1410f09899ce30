package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.metrics.Counter;
import java.util.Arrays;
import java.util.Collection;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkExecutorInfo;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.junit.jupiter.api.Test;

/** Sluice's frames in memory, moved by UCX, with the smallest memory limit there is. */
class UcxFaultsTest extends OneSidedFaults {
  private static final long ROWS = 200_000;
  private static final int REDUCERS = 20;

  @Override
  Map<String, String> settings() {
    return Map.of("spark.sluice.mode", "UCX", "spark.sluice.memory.limit", "16m");
  }

  /** 50 MB in rows of random letters and digits, so that each executor's half is more than its memory limit. */
  @Test
  void aShuffleLargerThanTheReceiveMemory() {
    Dataset<Row> texts = application().session().range(0, ROWS, 1, 4)
        .selectExpr("id", "sha2(CAST(id AS STRING), 512) AS text", "sha2(CAST(-id AS STRING), 512) AS more");
    Fingerprint expected = Fingerprint.of(texts).unordered();
    long spills = counted(Counter.WRITE_SPILLS);
    JavaRDD<InternalRow> rows = Plans.rows(texts.repartition(REDUCERS, col("id")));
    OneSidedReads.await(application(), () -> assertEquals(expected, Fingerprint.of(rows).unordered()));
    assertTrue(counted(Counter.WRITE_SPILLS) > spills, "nothing was spilled");
    assertEquals(0, counted(Counter.MEMORY_TIMEOUTS));
  }

  /** A task of the other executor is reading the killed executor's memory. The lost outputs are made again. */
  @Test
  void anExecutorKilledWhileItsMemoryIsRead() throws Exception {
    Map<Counter, Long> before = ProcessCounters.ofExecutors(application().context());
    JavaRDD<InternalRow> rows = Plans.rows(events().repartition(REDUCERS, col("k")));
    Fingerprint expected = Fingerprint.of(events()).unordered();
    // Afterwards each of the two has outputs that the other reads.
    OneSidedReads.await(application(), () -> assertEquals(expected, Fingerprint.of(rows).unordered()));
    assertEquals(before.get(Counter.CACHE_OUTPUTS) + MAPS, counted(Counter.CACHE_OUTPUTS));
    assertEquals(before.get(Counter.CACHE_MOVES), counted(Counter.CACHE_MOVES));
    Collection<Long> processes =
        ExecutorSurvey.ask(application().context(), () -> ProcessHandle.current().pid()).values();
    int retried = application().events().retriedStages();

    CompletableFuture<Fingerprint> job;
    try (StoppedProcess stopped = StoppedProcess.stop(processes.iterator().next())) {
      job = CompletableFuture.supplyAsync(() -> Fingerprint.of(rows).unordered());
      Await.until(LIMIT, () -> "no task reads", () -> runningTasks() == processes.size());
      stopped.kill();
    }

    assertEquals(expected, job.get(LIMIT.toSeconds(), TimeUnit.SECONDS));
    assertTrue(application().events().retriedStages() > retried, "no stage was retried");
    // Each round runs a new shuffle: of the retried one, the surviving executor may have all map outputs.
    OneSidedReads.await(application(),
        () -> assertEquals(expected, Fingerprint.of(events().repartition(REDUCERS, col("k"))).unordered()));
  }

  @Test
  void readersThatAreLateForMemoryThatWasFreed() throws Exception {
    readersThatAreLateForARemovedShuffle();
  }

  private int runningTasks() {
    return Arrays.stream(application().session().sparkContext().statusTracker().getExecutorInfos())
        .mapToInt(SparkExecutorInfo::numRunningTasks).sum();
  }

  private long counted(Counter counter) {
    return ProcessCounters.ofExecutors(application().context()).get(counter);
  }
}
