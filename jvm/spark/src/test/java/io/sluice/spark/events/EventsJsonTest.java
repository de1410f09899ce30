package io.sluice.spark.events;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.executor.ExecutorReports;
import io.sluice.spark.metrics.ColumnBytes;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.LatencyCounts;
import io.sluice.spark.metrics.PeerLatency;
import io.sluice.spark.metrics.TaskTimes;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

import org.apache.spark.util.JsonProtocol$;

/** Sluice's events in Spark's event log. */
class EventsJsonTest {
  private static final int MOST_BYTES = 1024;
  private static final String LONG_TEXT = "<script>\"\\\n".repeat(500);
  private static final long LARGE = 9_999_999_999_999L;
  private static final JsonProtocol$ JSON = JsonProtocol$.MODULE$;

  static Stream<SluiceEvent> events() {
    Map<String, String> given = new TreeMap<>();
    for (int i = 0; i < 50; i++) {
      given.put("spark.sluice.transport.key" + i, "v".repeat(100));
    }
    return Stream.of(
        SettingsInForce.of("0.1.0", true, "CACHE_ONLY", new String[] {"sluice", "cache", "netty"}, LARGE, false, LARGE,
            given).on("4.2.0-SNAPSHOT-" + "x".repeat(200), "25.0.1-internal-" + "x".repeat(200)),
        ShuffleRegistered.of(Integer.MAX_VALUE, ShuffleRegistered.SPARK, "AGGREGATOR", "text ".repeat(200), 1 << 24,
            LARGE).of(Integer.MAX_VALUE),
        StageSummary.of(Integer.MAX_VALUE, Integer.MAX_VALUE, 99, figures("write.")).get(0),
        StageSummary.of(Integer.MAX_VALUE, Integer.MAX_VALUE, 99, figures("read.")).get(0),
        ExecutorSelfTest.of("driver", "h".repeat(300), true, "text ".repeat(200)).on("25.0.1-" + "x".repeat(200)),
        ExecutorFigures.of("100000", figures("transport.")),
        ExecutorFallbacks.of("100000", figures("transport.")),
        PlanNodesLeft.of(reasons("s"), reasons("e")),
        ExecutorLatencies.of("100000", latencies(9), List.of(peer(), peer(), peer(), peer(), peer())),
        ExecutorPeers.of("100000", 99_999, 99_999, 99_999, Collections.nCopies(1_000, "p".repeat(300))),
        ShuffleColumns.of(Integer.MAX_VALUE, 99_999, columns()),
        StageTasks.of(Integer.MAX_VALUE, 99, tasks()).get(0));
  }

  private static Map<String, Long> reasons(String text) {
    Map<String, Long> reasons = new TreeMap<>();
    for (int i = 0; i < 50; i++) {
      reasons.put(i + text.repeat(200), LARGE);
    }
    return reasons;
  }

  private static LatencyCounts latencies(long each) {
    long[] counts = new long[LatencyCounts.BUCKETS];
    Arrays.fill(counts, each);
    return new LatencyCounts(counts, LARGE, LARGE);
  }

  private static PeerLatency peer() {
    return new PeerLatency("99999", latencies(9_999_999));
  }

  /** More than one event has, each with as much as a frame can have. */
  private static List<ColumnBytes> columns() {
    List<ColumnBytes> columns = new ArrayList<>();
    long[] encoded = new long[ColumnBytes.Encoding.values().length];
    Arrays.fill(encoded, 999_999);
    for (int field = 0; field < 1_000; field++) {
      columns.add(new ColumnBytes(field, 99_999_999, encoded));
    }
    return columns;
  }

  private static List<TaskTimes> tasks() {
    return LongStream.range(0, 100).mapToObj(task -> new TaskTimes(LARGE + task, LARGE, LARGE)).toList();
  }

  @Test
  void aStagesTasksAreToldByAsManyEventsAsTheyNeed() {
    List<StageTasks> events = StageTasks.of(3, 1, tasks());
    assertTrue(events.size() > 1 && events.size() < 10, () -> events.size() + " events");
    List<Long> told = new ArrayList<>();
    for (StageTasks event : events) {
      assertTrue(JSON.sparkEventToJsonString(event).length() <= MOST_BYTES);
      for (int i = 0; i < event.size(); i++) {
        told.add(event.taskId(i));
        assertEquals(LARGE / 1000, event.encodeMicros(i));
      }
    }
    assertEquals(tasks().stream().map(TaskTimes::taskId).toList(), told);
    assertTrue(StageTasks.of(3, 1, List.of()).isEmpty());
  }

  @Test
  void latenciesThatAreTooManyForAnEventLeaveOutPeers() {
    ExecutorLatencies event = ExecutorLatencies.of("7", latencies(LARGE), List.of(peer(), peer(), peer(), peer()));
    assertTrue(event.slowest().size() < 4 && !event.slowest().isEmpty(), () -> event.slowest().size() + " peers");
    PeerLatency usual = new PeerLatency("99999", latencies(9_999));
    assertEquals(4, ExecutorLatencies.of("7", latencies(1), List.of(usual, usual, usual, usual)).slowest().size());
  }

  private static Map<String, Long> figures(String prefix) {
    Map<String, Long> figures = new LinkedHashMap<>();
    for (Counter counter : Counter.values()) {
      if (counter.id().startsWith(prefix)) {
        figures.put(counter.id(), LARGE);
      }
    }
    return figures;
  }

  @ParameterizedTest
  @MethodSource("events")
  void anEventIsReadBackAsItWasWritten(SluiceEvent event) {
    String json = JSON.sparkEventToJsonString(event);
    assertEquals(json, JSON.sparkEventToJsonString(JSON.sparkEventFromJson(json)));
    assertTrue(json.contains("\"Event\":\"" + event.getClass().getName() + "\""), json);
    assertTrue(json.contains("\"version\":1"), json);
  }

  @ParameterizedTest
  @MethodSource("events")
  void anEventHasAtMostAKilobyte(SluiceEvent event) {
    int bytes = JSON.sparkEventToJsonString(event).getBytes(StandardCharsets.UTF_8).length;
    assertTrue(bytes <= MOST_BYTES, () -> bytes + " bytes: " + event.getClass());
  }

  /** Escaped by JSON, or of several bytes; and a half of a pair that stands alone. */
  @ParameterizedTest
  @ValueSource(strings = {"\"", "\\", "\u0001", "\n", "ä", "漢", "\ud83d\ude00", "\ud83d", "<", "\u007f", "\u2028"})
  void textsOfAnyCharactersLeaveAnEventAtMostAKilobyte(String character) {
    String text = character.repeat(500);
    Map<String, Long> numbers = Map.of(text, LARGE);
    Stream<SluiceEvent> hostile = Stream.of(
        SettingsInForce.of(text, true, text, new String[] {text, text, text}, LARGE, false, LARGE,
            Map.of("spark.sluice.a", text, "spark.sluice.b", text, text, text)).on(text, text),
        ShuffleRegistered.of(Integer.MAX_VALUE, ShuffleRegistered.SPARK_ONE_SIDED, text, text, 1 << 24, LARGE)
            .of(Integer.MAX_VALUE),
        ExecutorSelfTest.of("100000", text, true, text).on(text),
        ExecutorPeers.of("100000", 99_999, 99_999, 99_999, Collections.nCopies(10, text)),
        PlanNodesLeft.of(numbers, numbers));
    hostile.forEach(event -> {
      anEventHasAtMostAKilobyte(event);
      assertTrue(JSON.sparkEventToJsonString(event).indexOf('…') > 0, "what is left out is marked");
    });
  }

  @Test
  void aTextIsCutBetweenCharacters() {
    assertEquals("abc", Texts.atMost(3, "abc"));
    assertEquals("…", Texts.atMost(3, "abcd"));
    assertEquals("ab…", Texts.atMost(5, "abcdef"));
    assertEquals("\ud83d\ude00…", Texts.atMost(16, "\ud83d\ude00".repeat(3)));
    assertNull(Texts.atMost(3, null));
  }

  /** Largest values that are told, all at once: none is left out. */
  @Test
  void allThatAnExecutorReportsFitsItsEvents() {
    Map<String, Long> figures = largest(ExecutorReports.figureIds());
    ExecutorFigures event = ExecutorFigures.of("1000000", figures);
    assertEquals(figures, event.figures());
    anEventHasAtMostAKilobyte(event);
    Map<String, Long> fallbacks = largest(ExecutorReports.fallbackIds());
    ExecutorFallbacks other = ExecutorFallbacks.of("1000000", fallbacks);
    assertEquals(fallbacks, other.figures());
    anEventHasAtMostAKilobyte(other);
    assertEquals(Map.of("a", Figures.MOST), ExecutorFigures.of("1", Map.of("a", Long.MAX_VALUE)).figures());
  }

  private static Map<String, Long> largest(List<String> ids) {
    Map<String, Long> figures = new TreeMap<>();
    ids.forEach(id -> figures.put(id, Figures.MOST));
    return figures;
  }

  /** Nobody who looks at one executor misses a reason for which it left blocks to Spark. */
  @Test
  void everyCounterOfTheTransportAndTheCacheThatSaysWhyNotIsReported() {
    List<String> reported = new ArrayList<>(ExecutorReports.figureIds());
    reported.addAll(ExecutorReports.fallbackIds());
    for (Counter counter : Counter.values()) {
      String id = counter.id();
      if (id.startsWith("transport.netty") || id.endsWith(".unavailable") || id.startsWith("cache.return")
          || id.startsWith("transport.") && id.endsWith("Failures")) {
        assertTrue(reported.contains(id), id);
      }
    }
  }

  /** A stage's tasks may count everything. */
  @Test
  void figuresThatAreTooManyForOneSummaryAreInSeveral() {
    Map<String, Long> figures = figures("");
    List<StageSummary> events = StageSummary.of(Integer.MAX_VALUE, Integer.MAX_VALUE, 99, figures);
    Map<String, Long> told = new LinkedHashMap<>();
    events.forEach(event -> {
      anEventHasAtMostAKilobyte(event);
      told.putAll(event.figures());
    });
    assertEquals(figures, told);
    assertTrue(events.size() < 7, () -> events.size() + " events");
    Map<String, Long> first = StageSummary.of(1, 1, 0, figures("write.")).get(0).figures();
    assertTrue(first.containsKey("write.blockBytes") && first.containsKey("write.stockBytes"),
        "the estimate of the saving compares these two in one event");
  }

  @Test
  void reasonsForWhichThereIsNoRoomAreAddedUp() {
    PlanNodesLeft event = PlanNodesLeft.of(reasons("s"), Map.of("a", 7L, "b", 8L));
    assertEquals(50 * LARGE, event.sorts().values().stream().mapToLong(Long::longValue).sum());
    assertTrue(event.sorts().get(PlanNodesLeft.OTHER) > 0);
    assertEquals(Map.of("a", 7L, "b", 8L), event.exchanges());
  }

  @Test
  void columnsWithVeryLargeNumbersAreFewer() {
    long[] encoded = new long[ColumnBytes.Encoding.values().length];
    Arrays.fill(encoded, LARGE);
    List<ColumnBytes> columns = new ArrayList<>();
    for (int field = 0; field < 20; field++) {
      columns.add(new ColumnBytes(field, LARGE, encoded));
    }
    ShuffleColumns event = ShuffleColumns.of(1, 1, columns);
    anEventHasAtMostAKilobyte(event);
    assertEquals(20 * LARGE, event.columns().stream().mapToLong(ColumnBytes::rowBytes).sum(), "none is lost");
  }

  @ParameterizedTest
  @MethodSource("events")
  void fieldsOfLaterVersionsAreIgnored(SluiceEvent event) {
    String json = JSON.sparkEventToJsonString(event);
    String later = json.replaceFirst("\"version\":1", "\"version\":9,\"later\":{\"a\":[1,2]},\"more\":\"x\"");
    SluiceEvent read = assertInstanceOf(event.getClass(), JSON.sparkEventFromJson(later));
    assertEquals(9, read.version());
    assertEquals(json, JSON.sparkEventToJsonString(read).replaceFirst("\"version\":9", "\"version\":1"));
  }

  @ParameterizedTest
  @MethodSource("events")
  void missingFieldsAreEmpty(SluiceEvent event) {
    String name = event.getClass().getName();
    SluiceEvent read =
        assertInstanceOf(event.getClass(), JSON.sparkEventFromJson("{\"Event\":\"" + name + "\"}"));
    assertEquals(0, read.version());
    if (read instanceof StageSummary summary) {
      assertTrue(summary.figures().isEmpty());
    }
  }

  @Test
  void hostileTextsAreEscaped() {
    ExecutorSelfTest event = ExecutorSelfTest.of("1", LONG_TEXT, false, LONG_TEXT);
    String json = JSON.sparkEventToJsonString(event);
    assertTrue(json.indexOf('\n') < 0, "a line of the log is one event");
    assertEquals(event.host(), ((ExecutorSelfTest) JSON.sparkEventFromJson(json)).host());
  }
}
