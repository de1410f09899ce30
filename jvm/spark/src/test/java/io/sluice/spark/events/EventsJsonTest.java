package io.sluice.spark.events;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.metrics.Counter;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

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
            given),
        ShuffleRegistered.of(Integer.MAX_VALUE, ShuffleRegistered.SPARK, "AGGREGATOR", "text ".repeat(200), 1 << 24,
            LARGE),
        StageSummary.of(Integer.MAX_VALUE, Integer.MAX_VALUE, 99, figures("write.")),
        StageSummary.of(Integer.MAX_VALUE, Integer.MAX_VALUE, 99, figures("read.")),
        ExecutorSelfTest.of("driver", "h".repeat(300), true, "text ".repeat(200)),
        ExecutorFigures.of("100000", figures("transport.")));
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
