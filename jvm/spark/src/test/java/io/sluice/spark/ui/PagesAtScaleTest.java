package io.sluice.spark.ui;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.InAll;
import io.sluice.spark.events.ExecutorLatencies;
import io.sluice.spark.events.ShuffleColumns;
import io.sluice.spark.events.StageTasks;
import io.sluice.spark.metrics.ColumnBytes;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.LatencyCounts;
import io.sluice.spark.metrics.PeerLatency;
import io.sluice.spark.metrics.TaskTimes;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.scheduler.StageInfo;
import org.junit.jupiter.api.Test;

/**
 * An application of 10,000 shuffles on 1,000 executors: how long each page takes is printed, and must not be out of all
 * proportion; what the store keeps is bounded. {@code bench/results/ui-at-scale.md} has measured times.
 */
class PagesAtScaleTest {
  private static final int SHUFFLES = 10_000;
  private static final int EXECUTORS = 1_000;
  private static final int TASKS = 8;
  /** Not what a page should take, which is a second: so much that only a mistake takes it, not a busy machine. */
  private static final long MOST_MILLIS = 5_000;
  private static final int RUNS = 5;

  private static TestRows filled(int retained) {
    TestRows rows = new TestRows(retained);
    TestStages stages = new TestStages(rows.listener);
    for (int shuffle = 0; shuffle < SHUFFLES; shuffle++) {
      StageInfo map = TestStages.stage(2 * shuffle, TASKS, shuffle);
      StageInfo reduce = TestStages.stage(2 * shuffle + 1, TASKS, -1, 2 * shuffle);
      rows.registered(shuffle);
      stages.startJob(map, reduce);
      stages.run(map, 2L * TASKS * shuffle, 4);
      rows.summary(shuffle, 2 * shuffle, written(shuffle));
      StageTasks.of(2 * shuffle, 0, List.of(new TaskTimes(2L * TASKS * shuffle, 5_000_000, 0)))
          .forEach(rows.listener::onOtherEvent);
      stages.run(reduce, 2L * TASKS * shuffle + TASKS, 4);
      rows.summary(shuffle, 2 * shuffle + 1, read(shuffle));
      rows.listener.onOtherEvent(ShuffleColumns.of(shuffle, 1, columns()));
    }
    for (int executor = 0; executor < EXECUTORS; executor++) {
      executor(rows, executor);
    }
    return rows;
  }

  private static Map<Counter, Long> written(int shuffle) {
    return Map.of(Counter.WRITE_RECORDS, 1_000L + shuffle, Counter.WRITE_ROW_BYTES, 9_000_000L,
        Counter.WRITE_BLOCK_BYTES,
        4_000_000L, Counter.WRITE_STOCK_BYTES, 4_100_000L, Counter.WRITE_SPILLS, 1L, Counter.WRITE_SPILLED_BYTES, 99L,
        Counter.WRITE_ENCODE_NANOS, 5_000_000L, Counter.WRITE_COMMIT_NANOS, 5_000_000L, Counter.WRITE_MAP_OUTPUTS, 8L);
  }

  private static Map<Counter, Long> read(int shuffle) {
    return Map.of(Counter.READ_RECORDS, 1_000L + shuffle, Counter.READ_LOCAL_BYTES, 2_000_000L,
        Counter.READ_REMOTE_BYTES,
        2_000_000L, Counter.READ_ONE_SIDED_BYTES, 1_000_000L, Counter.READ_FETCH_WAIT_NANOS, 5_000_000_000L,
        Counter.READ_FRAMES, 100L, Counter.READ_DECODE_NANOS, 5_000_000L);
  }

  private static List<ColumnBytes> columns() {
    List<ColumnBytes> columns = new ArrayList<>();
    for (int field = 0; field < 30; field++) {
      columns.add(new ColumnBytes(field, 8_000, new long[] {1, 500, 200, 0, 0, 0, 0, 4_000 + field}));
    }
    return columns;
  }

  private static void executor(TestRows rows, int executor) {
    String id = Integer.toString(executor);
    Map<String, Long> figures = new TreeMap<>();
    for (String figure : List.of("memory.limitBytes", "memory.usedBytes", "memory.peakBytes", "memory.arenaLeasedBytes",
        "memory.arenaPeakBytes", "cache.usedBytes", "cache.bytes", "transport.mappedBytes", "transport.pinnedBytes",
        "transport.bytes", "transport.connections", "transport.peerFailures")) {
      figures.put(figure, 123_456_789L);
    }
    rows.executor(id, "host-" + executor + ".example.org", executor % 10 != 0, "what the library said", figures);
    long[] counts = new long[LatencyCounts.BUCKETS];
    java.util.Arrays.fill(counts, 1_000 + executor);
    List<PeerLatency> peers = new ArrayList<>();
    for (int peer = 1; peer <= 5; peer++) {
      peers.add(new PeerLatency(Integer.toString((executor + 7 * peer) % EXECUTORS),
          new LatencyCounts(counts, 9_000_000_000L, 999_999_999L)));
    }
    rows.listener.onOtherEvent(
        ExecutorLatencies.of(id, new LatencyCounts(counts, 90_000_000_000L, 999_999_999L), peers));
  }

  private static long usedBytes() {
    for (int i = 0; i < 3; i++) {
      System.gc();
    }
    return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
  }

  @InAll
  @Test
  void everyPageIsMadeInReasonableTime() throws Exception {
    long before = usedBytes();
    long start = System.nanoTime();
    TestRows rows = filled(SHUFFLES);
    System.out.printf(Locale.ROOT, "10,000 shuffles, 20,000 stages, 160,000 tasks, 1,000 executors: %.1f s, %.1f MiB%n",
        (System.nanoTime() - start) / 1e9, (usedBytes() - before) / 1048576.0);
    for (PageContent page : SluiceTab.pages(rows.store)) {
      for (String sort : page.path().equals("shuffles") ? List.of("id", "path", "encodings") : List.of("id")) {
        time(page, Map.of("sort", sort, "desc", "true"));
      }
    }
    time(new ShufflesContent(rows.store), Map.of("search", "sluice", "size", "1000", "page", "7"));
    assertEquals(SHUFFLES, rows.store.shuffles().size());
  }

  private static void time(PageContent page, Map<String, String> parameters) throws Exception {
    long first = 0;
    long least = Long.MAX_VALUE;
    String html = "";
    for (int run = 0; run < RUNS; run++) {
      long start = System.nanoTime();
      html = page.html(parameters::get);
      long nanos = System.nanoTime() - start;
      first = run == 0 ? nanos : first;
      least = Math.min(least, nanos);
    }
    System.out.printf(Locale.ROOT, "%s %s: first %.0f ms, later %.0f ms, %,d characters%n", page.title(), parameters,
        first / 1e6, least / 1e6, html.length());
    PagesTest.assertIsWellFormed(html);
    assertTrue(least / 1_000_000 < MOST_MILLIS, page.title() + " took " + least / 1_000_000 + " ms");
  }

  @Test
  void theStoreKeepsABoundedPartOfIt() throws Exception {
    TestRows rows = filled(1_000);
    assertEquals(1_000, rows.store.shuffles().size());
    assertEquals(EXECUTORS, rows.store.executors().size());
    long stages = rows.kvStore.count(StageTimeline.class);
    assertEquals(Timelines.RETAINED_TASKS / (TASKS + Timelines.TASKS_OF_A_STAGE), stages);
    assertEquals(SHUFFLES, rows.store.application().shuffles("SQL_ROWS"));
  }
}
