package io.sluice.spark.ui;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.events.SettingsInForce;
import io.sluice.spark.metrics.Counter;
import java.io.StringReader;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.xml.sax.InputSource;

class PagesTest {
  private static final UnaryOperator<String> NO_PARAMETERS = name -> null;

  private static List<PageContent> pages(TestRows rows) {
    return List.of(new OverviewContent(rows.store), new ShufflesContent(rows.store), new ExecutorsContent(rows.store),
        new DiagnosisContent(rows.store));
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

  private static void assertIsWellFormed(String html) throws Exception {
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
    rows.listener.onOtherEvent(SettingsInForce.of(hostile, true, hostile, new String[] {hostile, hostile, hostile}, 1,
        false, 1, Map.of(hostile, hostile)));
    Navigation navigation = new Navigation(pages(rows));
    for (PageContent page : pages(rows)) {
      for (UnaryOperator<String> parameters : List.<UnaryOperator<String>>of(NO_PARAMETERS, name -> hostile)) {
        String html = navigation.html(page) + page.html(parameters);
        assertIsWellFormed(html);
        for (String tag : List.of("<script", "<img", "<svg")) {
          assertFalse(html.contains(tag), html);
        }
        assertFalse(html.contains("href=\"javascript"), html);
      }
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
  void aThousandExecutorsAreShown() throws Exception {
    TestRows rows = new TestRows(1);
    for (int i = 0; i < 1_500; i++) {
      rows.executor(Integer.toString(i), "host" + i, true, "fine", Map.of("memory.peakBytes", 5L));
    }
    String html = new ExecutorsContent(rows.store).html(NO_PARAMETERS);
    assertIsWellFormed(html);
    assertTrue(html.contains("1,500 executors; the first 1,000 are shown"));
    assertTrue(html.indexOf("<td>9</td>") < html.indexOf("<td>10</td>"), "by number");
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
            + "./sluice doctor on that host says what to change.",
        "The blocks of shuffle 4 are hardly smaller than Spark's would be: 9.5 MiB against about 10.0 MiB.",
        "Shuffle 4 spilled 3.0 MiB in 2 spills, because its executors' block memory was full; more of it is "
            + "spark.sluice.memory.limit.",
        "Readers of shuffle 4 waited 1 min 30 s for blocks of other executors and decoded for 2.0 s.",
        "Tasks waited 3.0 s in 4 waits for block memory that other tasks held; more of it is "
            + "spark.sluice.memory.limit."),
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
