package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.SluiceShuffleManager;
import io.sluice.spark.executor.ExecutorGauge;
import io.sluice.spark.metrics.Counter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.SparkEnv;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Task metrics and SQL metrics have the same values as stock's. Of two executors, each one's sink has all metrics of
 * Sluice, and the tab has what they report.
 */
class MetricsTest {
  private static final long ROWS = 50_000;
  private static final int MAPS = 4;
  private static final int PARTITIONS = 10;
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final String SINK = "spark.metrics.conf.executor.sink.csv.";
  private static final String PLUGIN = ".plugin.io.sluice.spark.SluicePlugin.";

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
    boolean sluiceCluster = engine.isSluice() && master.equals(SparkApplication.CLUSTER);
    Path csv = SparkApplication.workDir().resolve("executor-metrics");
    ShuffleFiles.deleteTree(csv);
    assertTrue(csv.toFile().mkdirs(), csv::toString);
    try (SparkApplication application = SparkApplication.on(engine)
        .master(master)
        .setAll(sluiceCluster ? watched(csv) : Map.of())
        .set("spark.storage.localDiskByExecutors.cacheSize", "10")
        .set("spark.shuffle.readHostLocalDisk", "false")
        .start()
        .awaitExecutors(master.equals(SparkApplication.CLUSTER) ? 2 : 0)) {
      Dataset<Row> data = Tables.events(application.session(), ROWS, MAPS).repartition(PARTITIONS, col("k"));
      assertEquals(ROWS, Fingerprint.of(data).rows());
      ShuffleTotals totals = application.events().totals();
      if (sluiceCluster) {
        assertSinksHaveAllMetrics(application, csv);
        assertTabHasReports(application);
      }
      long bytes = ShuffleFiles.data(application.localDir()).stream().mapToLong(ShuffleFiles::size).sum();
      return new Observed(
          totals, Plans.metric(data, "dataSize"), Plans.metric(data, "shuffleRecordsWritten"), bytes,
          sluiceCluster ? fetches(application) : 0);
    }
  }

  /** With the UI, and a sink in each executor's process. */
  private static Map<String, String> watched(Path csv) {
    Map<String, String> settings = new HashMap<>(LiveTab.SETTINGS);
    settings.put(SINK + "class", "org.apache.spark.metrics.sink.CsvSink");
    settings.put(SINK + "directory", csv.toString());
    settings.put(SINK + "period", "1");
    settings.put(SINK + "unit", "seconds");
    return settings;
  }

  private static void assertSinksHaveAllMetrics(SparkApplication application, Path csv) {
    ProcessCounters.byExecutor(application.context()).forEach((id, counters) -> {
      String prefix = application.session().sparkContext().applicationId() + "." + id + PLUGIN;
      Await.until(LIMIT, () -> "executor " + id + " has not written all metrics to " + csv, () -> MetricsSinksTest
          .allMetrics().stream().allMatch(metric -> Files.exists(csv.resolve(prefix + metric + ".csv"))));
      String written = counters.get(Counter.WRITE_ROW_BYTES).toString();
      Await.until(LIMIT, () -> "executor " + id + " has other bytes than " + written, () -> {
        try {
          List<String> lines = Files.readAllLines(csv.resolve(prefix + Counter.WRITE_ROW_BYTES.id() + ".csv"));
          return lines.get(lines.size() - 1).endsWith("," + written);
        } catch (IOException e) {
          throw new UncheckedIOException(e);
        }
      });
    });
  }

  /** By Spark's block transfer too, executors keep how long blocks took. */
  private static void assertTabHasReports(SparkApplication application) {
    String executors = new LiveTab(application).rest("/executors");
    assertTrue(executors.contains("\"executorId\" : \"0\"") && executors.contains("\"executorId\" : \"1\""), executors);
    assertTrue(LiveTab.numbers(executors, "memory.peakBytes").stream().anyMatch(bytes -> bytes > 0), executors);
    List<Long> counts = LiveTab.sums(executors, "counts");
    assertTrue(counts.stream().mapToLong(Long::longValue).sum() > 0, executors);
    assertTrue(executors.contains("\"javaVersion\" : \"" + System.getProperty("java.version") + "\""), executors);
  }

  private static long fetches(SparkApplication application) {
    return ExecutorSurvey.ask(application.context(),
        () -> ExecutorGauge.FETCHES.of(((SluiceShuffleManager) SparkEnv.get().shuffleManager()).executorState())
            .longValue())
        .values().stream().mapToLong(Long::longValue).sum();
  }
}
