package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.SluiceShuffleManager;
import io.sluice.spark.executor.ExecutorGauge;
import java.util.List;
import org.apache.spark.SparkEnv;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Task metrics and SQL metrics have the same values as stock's. */
class MetricsTest {
  private static final long ROWS = 50_000;
  private static final int MAPS = 4;
  private static final int PARTITIONS = 10;

  /** @param fetches blocks whose latency executors have kept */
  private record Observed(
      ShuffleTotals totals, List<Long> dataSize, List<Long> recordsWritten, long fileBytes, long fetches) {}

  @ParameterizedTest
  @ValueSource(strings = {SparkApplication.LOCAL, SparkApplication.CLUSTER})
  void metricsEqualStocks(String master) {
    Observed stock = observe(Engine.STOCK, SparkApplication.LOCAL);
    Observed ours = observe(Engine.UNDER_TEST, master);

    assertEquals(stock.dataSize(), ours.dataSize());
    assertEquals(stock.recordsWritten(), ours.recordsWritten());
    assertEquals(List.of(ROWS), ours.recordsWritten());
    assertEquals(ROWS, ours.totals().recordsWritten());
    assertEquals(ROWS, ours.totals().recordsRead());
    assertEquals(ours.fileBytes(), ours.totals().bytesWritten());
    assertEquals(ours.fileBytes(), ours.totals().bytesRead());
    assertEquals(MAPS * PARTITIONS, ours.totals().localBlocks() + ours.totals().remoteBlocks());
    assertEquals(master.equals(SparkApplication.CLUSTER), ours.totals().remoteBlocks() > 0);
    assertTrue(ours.totals().writeNanos() > 0);
    if (Engine.UNDER_TEST.isSluice()) {
      assertEquals(ours.totals().remoteBlocks(), ours.fetches());
    }
  }

  private static Observed observe(Engine engine, String master) {
    try (SparkApplication application = SparkApplication.on(engine)
        .master(master)
        .set("spark.storage.localDiskByExecutors.cacheSize", "10")
        .set("spark.shuffle.readHostLocalDisk", "false")
        .start()
        .awaitExecutors(master.equals(SparkApplication.CLUSTER) ? 2 : 0)) {
      Dataset<Row> data = Tables.events(application.session(), ROWS, MAPS).repartition(PARTITIONS, col("k"));
      assertEquals(ROWS, Fingerprint.of(data).rows());
      ShuffleTotals totals = application.events().totals();
      long bytes = ShuffleFiles.data(application.localDir()).stream().mapToLong(ShuffleFiles::size).sum();
      return new Observed(
          totals, Plans.metric(data, "dataSize"), Plans.metric(data, "shuffleRecordsWritten"), bytes,
          engine.isSluice() && master.equals(SparkApplication.CLUSTER) ? fetches(application) : 0);
    }
  }

  private static long fetches(SparkApplication application) {
    return ExecutorSurvey.ask(application.context(),
        () -> ExecutorGauge.FETCHES.of(((SluiceShuffleManager) SparkEnv.get().shuffleManager()).executorState())
            .longValue())
        .values().stream().mapToLong(Long::longValue).sum();
  }
}
