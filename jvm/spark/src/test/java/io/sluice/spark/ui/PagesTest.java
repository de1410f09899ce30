package io.sluice.spark.ui;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.events.ExecutorPeers;
import io.sluice.spark.events.PlanNodesLeft;
import io.sluice.spark.events.SettingsInForce;
import io.sluice.spark.events.ShuffleColumns;
import io.sluice.spark.metrics.ColumnBytes;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.LatencyCounts;
import io.sluice.spark.metrics.LatencyHistogram;
import java.io.StringReader;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.xml.sax.InputSource;

class PagesTest {
  private static final UnaryOperator<String> NO_PARAMETERS = name -> null;

  private static List<PageContent> pages(TestRows rows) {
    return SluiceTab.pages(rows.store);
  }

  private static TestRows shuffles(int count) {
    TestRows rows = new TestRows(count);
    for (int shuffle = 0; shuffle < count; shuffle++) {
      rows.registered(shuffle);
      rows.summary(shuffle, shuffle, Map.of(Counter.WRITE_RECORDS, (long) (shuffle * 7919) % count));
    }
    return rows;
  }

  private static List<Integer> ids(String html) {
    List<Integer> ids = new ArrayList<>();
    Matcher rows = Pattern.compile("<tr id=\"shuffle-(\\d+)\"").matcher(html);
    while (rows.find()) {
      ids.add(Integer.parseInt(rows.group(1)));
    }
    return ids;
  }

  @Test
  void pagesWithoutAnythingSaySo() throws Exception {
    for (PageContent page : pages(new TestRows(1))) {
      assertIsWellFormed(page.html(NO_PARAMETERS));
    }
  }

  static void assertIsWellFormed(String html) throws Exception {
    String xml = "<html>" + html.replace("&nbsp;", "&#160;") + "</html>";
    DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(new InputSource(new StringReader(xml)));
  }

  /** Whatever an application, a host or an address says, none of it becomes markup. */
  @ParameterizedTest
  @ValueSource(strings = {
    "<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "'><svg onload=alert(1)>", "&lt;b&gt;",
    "\u0000\u0007]]>",
    "javascript:alert(1)"})
  void hostileTextsAreEscaped(String hostile) throws Exception {
    TestRows rows = new TestRows(10);
    rows.fallback(1, hostile, hostile);
    rows.registered(2);
    rows.summary(2, 4, Map.of(Counter.WRITE_SPILLED_BYTES, 5L, Counter.WRITE_SPILLS, 1L));
    rows.executor(hostile, hostile, false, hostile, Map.of("memory.peakBytes", 5L));
    rows.fetched(hostile, counts(5, 1), hostile, counts(5, 1));
    rows.listener.onOtherEvent(ExecutorPeers.of(hostile, 2, 1, 1, List.of(hostile)));
    rows.listener.onOtherEvent(ShuffleColumns.of(2, 1, List.of(new ColumnBytes(0, 9, new long[] {1, 2}))));
    rows.fallbacks(hostile, Map.of("transport.unavailable", 1L, hostile, 1L));
    rows.listener.onOtherEvent(PlanNodesLeft.of(Map.of(hostile, 1L), Map.of(hostile, 1L)));
    TestStages stages = new TestStages(rows.listener);
    stages.submit(TestStages.stage(4, 1, 2));
    stages.endTask(4, 1, hostile, 0, 5, false);
    stages.complete(TestStages.stage(4, 1, 2));
    rows.listener.onOtherEvent(SettingsInForce.of(hostile, true, hostile, new String[] {hostile, hostile, hostile}, 1,
        false, 1, Map.of(hostile, hostile)).on(hostile, hostile));
    Navigation navigation = new Navigation(pages(rows));
    for (PageContent page : pages(rows)) {
      for (UnaryOperator<String> parameters : List.<UnaryOperator<String>>of(NO_PARAMETERS, name -> hostile)) {
        String html = navigation.html(page) + page.html(parameters);
        assertIsWellFormed(html);
        for (String tag : List.of("<script", "<img", "<svg onload")) {
          assertFalse(html.contains(tag), html);
        }
        assertFalse(html.contains("href=\"javascript"), html);
      }
    }
  }

  private static LatencyCounts counts(long blocks, long millis) {
    LatencyHistogram histogram = new LatencyHistogram();
    for (int i = 0; i < blocks; i++) {
      histogram.add(TimeUnit.MILLISECONDS.toNanos(millis));
    }
    return histogram.coarse();
  }

  @Test
  void latenciesAreShownForAllForEachExecutorAndForSlowPeers() throws Exception {
    TestRows rows = new TestRows(10);
    rows.fetched("1", counts(90, 2).plus(counts(10, 700)), "3", counts(10, 700));
    rows.fetched("2", counts(50, 2), "3", counts(50, 2));
    String html = new ExecutorsContent(rows.store).html(NO_PARAMETERS);
    assertIsWellFormed(html);
    String plain = html.replace('\u00a0', ' ');
    assertTrue(plain.contains("150 blocks: half within 3.0 ms, 95 % within 700 ms, all within 700 ms."), plain);
    assertTrue(plain.contains("≤ 3 ms</td><td class=\"text-end text-right\">140</td>"), plain);
    assertTrue(plain.contains("<td>executor 3</td><td class=\"text-end text-right\">2</td>"), plain);
    assertTrue(plain.contains("<title>≤ 3 ms: 90, ≤ 1 s: 10</title>"), plain);
  }

  @Test
  void peersAreShownWithTheirState() {
    TestRows rows = new TestRows(10);
    rows.executor("1", "host", true, "fine", Map.of("transport.peerFailures", 3L, "transport.pinnedBytes", 7L));
    rows.executor("1", "host", true, "fine", Map.of("transport.peerFailures", 3L));
    rows.listener.onOtherEvent(ExecutorPeers.of("1", 20, 4, 3, List.of("8", "9")));
    String html = new ExecutorsContent(rows.store).html(NO_PARAMETERS);
    assertTrue(html.contains("20 known, 4 connected, 3 failed: 8, 9, …; 3 failures so far"), html);
    assertTrue(html.replace('\u00a0', ' ').contains("0 / 7 B"), "pinned now, and at most: " + html);
  }

  @Test
  void encodingsAreShownAsABarForEachShuffle() throws Exception {
    TestRows rows = new TestRows(10);
    rows.registered(1);
    rows.listener.onOtherEvent(ShuffleColumns.of(1, 1, List.of(new ColumnBytes(0, 80, new long[] {0, 10, 30}),
        new ColumnBytes(1, 80, new long[] {0, 0, 0, 0, 0, 60}))));
    rows.listener
        .onOtherEvent(ShuffleColumns.of(1, 1, List.of(new ColumnBytes(1, 20, new long[] {0, 0, 0, 0, 0, 20}))));
    String html = new ShufflesContent(rows.store).html(NO_PARAMETERS);
    assertIsWellFormed(html);
    assertTrue(html.contains("field 2: 80 B of 100 B of rows; words as they are 100 %"), html);
    assertTrue(html.contains(
        "field 1: 40 B of 80 B of rows; difference from a base 25 %; difference from the row before 75 %"), html);
    String timeline = new TimelineContent(rows.store).html(Map.of("id", "1")::get);
    assertIsWellFormed(timeline);
    assertTrue(timeline.contains("In 2 frames: one of each executor"), timeline);
  }

  @Test
  void diagnosisNamesColumnsThatDoNotGetSmallerAndSlowExecutors() {
    TestRows rows = new TestRows(10);
    rows.registered(12);
    rows.summary(12, 1, Map.of(Counter.WRITE_BLOCK_BYTES, 10L << 20));
    rows.listener.onOtherEvent(ShuffleColumns.of(12, 1, List.of(new ColumnBytes(0, 80, new long[] {3}),
        new ColumnBytes(1, 80, new long[] {2}), new ColumnBytes(2, 95, new long[] {0, 0, 0, 0, 0, 0, 95}))));
    rows.fetched("1", counts(90, 10).plus(counts(10, 700)), "5", counts(10, 700));
    rows.fetched("2", counts(100, 10), "6", counts(50, 10));
    assertEquals(List.of(
        "95 % of shuffle 12 is one column, field 3, that hardly gets smaller: 95 B in blocks of 95 B in rows, in 1 "
            + "frame that was looked at.",
        "89 % of the time in which blocks were under way is executor 5's, which gave 10 % of the blocks (95 % within "
            + "700 ms), to the executor that it was among the slowest for."),
        new Diagnosis(rows.store.application(), rows.store.shuffles(), rows.store.executors()).sentences());
  }

  @Test
  void theOverviewSaysWhereBytesWentAndWhatWasSaved() throws Exception {
    TestRows rows = new TestRows(10);
    rows.registered(1);
    rows.summary(1, 1, Map.of(Counter.WRITE_BLOCK_BYTES, 10L << 20, Counter.WRITE_STOCK_BYTES, 30L << 20,
        Counter.READ_REMOTE_BYTES, 4L << 20, Counter.READ_ONE_SIDED_BYTES, 3L << 20));
    rows.executor("1", "host", true, "fine", Map.of("cache.bytes", 6L << 20, "cache.movedBytes", 1L << 20,
        "transport.cmaBytes", 2L << 20, "memory.limitBytes", 100L << 20, "memory.usedBytes", 25L << 20));
    rows.listener
        .onOtherEvent(SettingsInForce.of("1.0", true, "UCX", new String[] {"sluice", "cache", "ucx"}, 1, false, 2,
            Map.of()).on("4.2.0", "17"));
    String html = new OverviewContent(rows.store).html(NO_PARAMETERS);
    assertIsWellFormed(html);
    for (String part : List.of("so 20.0 MiB (67 %) less was written", "fetched 4.0 MiB from each other",
        "about 8.0 MiB less than in Spark&#39;s format", "6.0 MiB, 1.0 MiB of it moved to disks later",
        "3.0 MiB, 2.0 MiB of it within a machine", "25.0 MiB of 100 MiB (25 %)", "Spark 4.2.0, Java 17")) {
      assertTrue(html.contains(part), part + " in " + html);
    }
  }

  @Test
  void tenThousandShufflesAreShownInPages() throws Exception {
    ShufflesContent page = new ShufflesContent(shuffles(10_000).store);
    String first = page.html(NO_PARAMETERS);
    assertIsWellFormed(first);
    assertEquals(100, ids(first).size());
    assertTrue(first.contains("10,000 shuffles, page 1 of 100"), first);
    List<Integer> last = ids(page.html(Map.of("page", "100000", "size", "30")::get));
    assertEquals(10, last.size());
    assertEquals(9_999, last.get(9));
  }

  @Test
  void shufflesAreSortedByAnyColumnAndSearched() {
    ShufflesContent page = new ShufflesContent(shuffles(1_000).store);
    List<Integer> byRows = ids(page.html(Map.of("sort", "rows", "desc", "true")::get));
    assertEquals(999, byRows.get(0) * 7919 % 1_000);
    assertEquals(998, byRows.get(1) * 7919 % 1_000);
    assertEquals(List.of(123), ids(page.html(Map.of("search", "123 SLUICE")::get)));
    assertTrue(page.html(Map.of("search", "nowhere")::get).contains("No shuffle has these words"));
    for (ShuffleColumn column : ShuffleColumn.values()) {
      assertEquals(100, ids(page.html(Map.of("sort", column.key())::get)).size(), column::key);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"-1", "0", "x", "99999999999999", ""})
  void wrongNumbersInAnAddressAreReplaced(String number) {
    ShufflesContent page = new ShufflesContent(shuffles(150).store);
    assertEquals(100, ids(page.html(Map.of("page", number, "size", number)::get)).size());
  }

  @Test
  void executorsAreSortedSearchedAndInPages() throws Exception {
    TestRows rows = new TestRows(1);
    for (int i = 0; i < 1_500; i++) {
      rows.executor(Integer.toString(i), "host" + i % 7, true, "fine", Map.of("memory.peakBytes", i * 7919L % 1_500));
    }
    ExecutorsContent page = new ExecutorsContent(rows.store);
    String first = page.html(NO_PARAMETERS);
    assertIsWellFormed(first);
    assertTrue(first.contains("1,500 executors, page 1 of 15"));
    assertTrue(first.indexOf("<td>9</td>") < first.indexOf("<td>10</td>"), "by number");
    assertFalse(first.contains("<td>100</td>"));
    assertTrue(page.html(Map.of("page", "15")::get).contains("<td>1499</td>"));
    assertTrue(page.html(Map.of("size", "5000")::get).contains("page 1 of 3"));
    assertTrue(page.html(Map.of("search", "HOST3", "size", "500")::get).contains("214 executors"));
    assertTrue(page.html(Map.of("search", "nowhere")::get).contains("No executor has these words"));
    String byPeak = page.html(Map.of("sort", "peak", "desc", "true", "size", "1")::get);
    assertTrue(byPeak.contains("<td>" + executorWithPeak(1_499) + "</td>"), byPeak);
    for (ExecutorColumn column : ExecutorColumn.values()) {
      assertIsWellFormed(page.html(Map.of("sort", column.key(), "size", "2")::get));
    }
    String plain = page.plainHtml();
    assertIsWellFormed(plain);
    assertTrue(plain.contains("1,500 executors; the first 500 are shown"));
    assertFalse(plain.contains("sort="));
  }

  private static int executorWithPeak(long peak) {
    int executor = 0;
    while (executor * 7919L % 1_500 != peak) {
      executor++;
    }
    return executor;
  }

  @Test
  void diagnosisNamesWhatWasCounted() {
    TestRows rows = new TestRows(10);
    for (int shuffle = 0; shuffle < 3; shuffle++) {
      rows.fallback(shuffle, "COMPRESSION_CODEC", "spark.io.compression.codec is none of lz4, zstd, snappy");
    }
    rows.registered(4);
    rows.summary(4, 1, Map.of(Counter.WRITE_STOCK_BYTES, 10L << 20, Counter.WRITE_BLOCK_BYTES, 19L << 19,
        Counter.WRITE_SPILLED_BYTES, 3L << 20, Counter.WRITE_SPILLS, 2L));
    rows.summary(4, 2,
        Map.of(Counter.READ_FETCH_WAIT_NANOS, 90_000_000_000L, Counter.READ_DECODE_NANOS, 2_000_000_000L));
    rows.executor("5", "node5", false, "no such file", Map.of("memory.waits", 4L, "memory.waitNanos", 3_000_000_000L));
    assertEquals(List.of(
        "3 shuffles went Spark's way because spark.io.compression.codec is none of lz4, zstd, snappy. Set "
            + "spark.io.compression.codec to lz4, zstd or snappy.",
        "Executor 5 on node5 reads and writes in Java, which is slower and makes larger files: no such file. "
            + "Run 'java -jar sluice.jar doctor' on that host: it says what to change.",
        "Tasks waited 3.0 s in 4 waits for block memory that other tasks held; more of it is "
            + "spark.sluice.memory.limit.",
        "The blocks of shuffle 4 are hardly smaller than Spark's would be: 9.5 MiB against about 10.0 MiB.",
        "Shuffle 4 spilled 3.0 MiB in 2 spills, because its executors' block memory was full; more of it is "
            + "spark.sluice.memory.limit.",
        "Readers of shuffle 4 waited 1 min 30 s for blocks of other executors and decoded for 2.0 s."),
        new Diagnosis(rows.store.application(), rows.store.shuffles(), rows.store.executors()).sentences());
  }

  @Test
  void diagnosisNamesWhatExecutorsCannotUseAndWhatTheyLeftToSpark() throws Exception {
    TestRows rows = new TestRows(10);
    for (String id : List.of("1", "2")) {
      rows.executor(id, "node" + id, true, "fine",
          Map.of("transport.blocks", 35L, "transport.peerFailures", 4L, "cache.refusals", 1L));
      rows.fallbacks(id, Map.of("cache.unavailable", 1L, "transport.nettyNotFound", 10L, "transport.nettyTimeout", 5L));
    }
    rows.fallbacks("2", Map.of("transport.unavailable", 1L, "transport.nettyTimeout", 15L,
        "transport.publishFailures", 1L, "cache.moveFailures", 2L, "cache.returnFailures", 3L));
    rows.listener.onOtherEvent(ExecutorPeers.of("1", 20, 4, 3, List.of("8", "9")));
    assertEquals(List.of(
        "One-sided reads are not possible on executor 2 on node2: UCX or the native library cannot be used there, and "
            + "Spark's block transfer brings the blocks. The log of an executor says why, and 'java -jar sluice.jar "
            + "doctor' on its host says what to change.",
        "Map outputs cannot be kept in memory on executor 1 on node1: they are files there. The log of an executor "
            + "says why, and 'java -jar sluice.jar doctor' on its host says what to change.",
        "30 % of the blocks that were to be read one-sidedly were left to Spark's block transfer: 20 because their "
            + "executor did not answer within spark.sluice.transport.timeout; 10 because their executor had not "
            + "published them.",
        "When executor 1 last reported, it could not read 3 of 20 other executors one-sidedly: 8, 9, …. Spark's block "
            + "transfer brings their blocks until they are tried again.",
        "Map outputs that could not be published for one-sided reads: 1. Spark's block transfer brings their blocks.",
        "Map outputs that were written to the disk at once, because memory had no room: 2. More of it is "
            + "spark.sluice.cache.hostLimit.",
        "Failed moves of a map output from memory to the disk: 2. No local directory could take it.",
        "Map outputs that could not be brought back from the disk to memory: 3. They are read from the disk."),
        rows.diagnosis().sentences());
    rows.listener.onOtherEvent(ExecutorPeers.of("1", 20, 4, 0, List.of()));
    rows.fallbacks("1", Map.of("cache.unavailable", 1L));
    rows.fallbacks("2", Map.of("cache.unavailable", 1L, "gpu.lost", 1L, "transport.nettyUnknownPeer", 3L));
    assertEquals(List.of(
        "Map outputs cannot be kept in memory on 2 executors (1 on node1, 2 on node2): they are files there. The log "
            + "of an executor says why, and 'java -jar sluice.jar doctor' on its host says what to change.",
        "The GPU has failed and is not used any more on executor 2 on node2: the CPU encodes map output there. The log "
            + "of an executor says why, and 'java -jar sluice.jar doctor' on its host says what to change.",
        "4 % of the blocks that were to be read one-sidedly were left to Spark's block transfer: 3 because their "
            + "executor had not announced itself. Executors announce themselves within their first seconds.",
        "Times that an executor could not be read one-sidedly: 8. It was tried again after "
            + "spark.sluice.transport.retryDelay."),
        rows.diagnosis().sentences().subList(0, 4));
    String page = new DiagnosisContent(rows.store).html(NO_PARAMETERS);
    assertIsWellFormed(page);
    assertFalse(page.contains("Nothing stands out"), page);
  }

  @Test
  void diagnosisNamesNodesOfPlansAndTasksThatSparkDid() {
    TestRows rows = new TestRows(10);
    rows.registered(4);
    rows.summary(4, 1, Map.of(Counter.COMBINED_BY_SPARK, 2L, Counter.WRITE_ROWS_PROJECTED, 1_500L,
        Counter.WRITE_ROWS_OF_BATCHES, 4_500L));
    rows.registered(5);
    rows.summary(5, 2, Map.of(Counter.WRITE_ROWS_PROJECTED, 400L, Counter.WRITE_ROWS_OF_BATCHES, 4_500L));
    rows.listener.onOtherEvent(PlanNodesLeft.of(Map.of("only Spark knows the order of a key", 3L),
        Map.of("a key has a subquery", 1L)));
    assertEquals(List.of(
        "3 sorts in SQL plans stay Spark's because only Spark knows the order of a key.",
        "Spark's function finds the partitions of 1 exchange in a SQL plan because a key has a subquery.",
        "2 tasks of shuffle 4 moved records that were being combined to Spark's map, which can spill: memory was "
            + "short, or a key came that its bytes cannot stand for.",
        "1,500 of 6,000 rows of shuffle 4 that lay in batches of columns were made one by one, most often because the "
            + "block memory had no room for copies; more of it is spark.sluice.memory.limit, and with "
            + "spark.sluice.columnar=false Spark makes rows faster."),
        rows.diagnosis().sentences());
  }

  /** The sentence about blocks that were left to Spark takes the reasons from the labels of the counters. */
  @Test
  void everyReasonForWhichBlocksAreLeftToSparkIsKnown() {
    assertEquals(Stream.of(Counter.values()).filter(each -> each.name().startsWith("TRANSPORT_NETTY_")).toList(),
        ExecutorDiagnosis.LEFT);
  }

  @Test
  void remediesWithNothingToDoAreWholeSentences() {
    TestRows rows = new TestRows(10);
    rows.fallback(1, "AGGREGATOR", "it has an aggregator");
    assertEquals(
        List.of("1 shuffle went Spark's way because it has an aggregator. There is nothing to do, unless a library "
            + "made this shuffle of SQL rows: Spark's own exchanges have no aggregator. Then tell the makers of Sluice "
            + "which library it is."),
        new Diagnosis(rows.store.application(), rows.store.shuffles(), rows.store.executors()).sentences());
  }

  @Test
  void amountsAreReadable() {
    assertEquals("1023 B", Amounts.bytes(1023));
    assertEquals("1.5 KiB", Amounts.bytes(1536));
    assertEquals("250 MiB", Amounts.bytes(250L << 20));
    assertEquals("0 ms", Amounts.nanos(0));
    assertEquals("1.5 ms", Amounts.nanos(1_500_000));
    assertEquals("59.0 s", Amounts.nanos(59_000_000_000L));
    assertEquals("1 min 1 s", Amounts.nanos(61_000_000_000L));
    assertEquals("2 h 0 min", Amounts.nanos(7_200_000_000_000L));
    assertEquals("–", Amounts.percent(1, 0));
    assertEquals("33 %", Amounts.percent(1, 3));
  }
}
