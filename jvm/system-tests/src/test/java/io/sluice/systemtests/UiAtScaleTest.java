package io.sluice.systemtests;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.sluice.nativebridge.NativeCore;
import io.sluice.spark.events.ExecutorFigures;
import io.sluice.spark.events.ExecutorSelfTest;
import io.sluice.spark.events.ShuffleRegistered;
import io.sluice.spark.events.StageSummary;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The tab and the REST interface over HTTP with 10,000 shuffles and 1,000 executors: during the application, and in a
 * History Server whose store is on the disk. How long each answer takes is written to {@code target/ui-at-scale.json}
 * and must not be out of all proportion; {@code bench/results/ui-at-scale.md} has measured times.
 */
@Tag("once")
@InAll
class UiAtScaleTest {
  private static final int SHUFFLES = 10_000;
  private static final int EXECUTORS = 1_000;
  private static final int RUNS = 5;
  /** Not what an answer should take, which is a second: so much that only a mistake takes it, not a busy machine. */
  private static final long MOST_MILLIS = 10_000;
  private static final Duration OPENING = Duration.ofMinutes(5);
  private static final List<String> PAGES = Arrays.asList("", "shuffles/", "shuffles/?sort=path&desc=true",
      "shuffles/?search=sluice&size=1000&page=7", "timeline/", "executors/", "diagnosis/");
  private static final List<String> ANSWERS =
      Arrays.asList("", "/shuffles", "/shuffles/77", "/executors", "/diagnosis");

  @TempDir private Path folder;
  private final List<String> measured = new ArrayList<>();

  @Test
  void everyAnswerComesInReasonableTime() throws Exception {
    assumeTrue(Engine.UNDER_TEST.isSluice(), "another manager is tested");
    Path eventLogs = Files.createDirectories(folder.resolve("events"));
    String retained = "spark.sluice.ui.retainedShuffles";
    String id;
    try (SparkApplication application = SparkApplication.on(Engine.UNDER_TEST).set("spark.ui.enabled", "true")
        .set("spark.ui.port", "0").set(retained, Integer.toString(SHUFFLES))
        .set("spark.scheduler.listenerbus.eventqueue.capacity", "200000").set("spark.eventLog.enabled", "true")
        .set("spark.eventLog.dir", eventLogs.toUri().toString()).start()) {
      SparkSession session = application.session();
      id = session.sparkContext().applicationId();
      events().forEach(session.sparkContext().listenerBus()::post);
      application.events();
      measure("memory",
          "http://127.0.0.1:" + URI.create(session.sparkContext().uiWebUrl().get()).getPort(), "", id);
    }
    Map<String, String> settings = new LinkedHashMap<>();
    settings.put("spark.history.store.path", Files.createDirectories(folder.resolve("store")).toString());
    settings.put(retained, Integer.toString(SHUFFLES));
    String jar = Paths.get(NativeCore.class.getProtectionDomain().getCodeSource().getLocation().toURI()).toString();
    try (HistoryServer server = HistoryServer.start(eventLogs, jar, folder.resolve("history.log"), settings)) {
      String ui = server.awaitUiOf(id);
      awaitOpened(ui);
      String history = "/history/" + id;
      measure("disk", ui.substring(0, ui.length() - history.length()), history, id);
      assertTrue(Files.list(folder.resolve("store")).findAny().isPresent(), "the store is on the disk");
    }
    Path target = Paths.get("target");
    Files.write(Files.createDirectories(target).resolve("ui-at-scale.json"),
        ("[\n" + String.join(",\n", measured) + "\n]\n").getBytes());
  }

  /** The first page that is asked for waits until the server has read the whole log into its store. */
  private void awaitOpened(String ui) {
    long start = System.nanoTime();
    Await.until(OPENING, () -> "the History Server does not open the application", () -> {
      try {
        return !WebPage.get(ui + "/jobs/").isEmpty();
      } catch (IOException notYet) {
        return false;
      }
    });
    System.out.printf(Locale.ROOT, "opened in %.1f s%n", (System.nanoTime() - start) / 1e9);
  }

  private void measure(String store, String server, String ui, String id) throws Exception {
    for (String page : PAGES) {
      measure(store, "/sluice/" + page, server + ui + "/sluice/" + page);
    }
    for (String answer : ANSWERS) {
      measure(store, "/api/v1/…/sluice" + answer, server + "/api/v1/applications/" + id + "/sluice" + answer);
    }
  }

  private void measure(String store, String what, String url) throws Exception {
    List<String> millis = new ArrayList<>();
    long least = Long.MAX_VALUE;
    int characters = 0;
    for (int run = 0; run < RUNS; run++) {
      long start = System.nanoTime();
      characters = WebPage.get(url).length();
      long nanos = System.nanoTime() - start;
      least = Math.min(least, nanos / 1_000_000);
      millis.add(String.format(Locale.ROOT, "%.1f", nanos / 1e6));
    }
    String line = String.format(Locale.ROOT,
        "  {\"store\": \"%s\", \"path\": \"%s\", \"characters\": %d, \"runs_ms\": [%s]}", store, what, characters,
        String.join(", ", millis));
    System.out.println(line);
    measured.add(line);
    assertTrue(least < MOST_MILLIS, line);
  }

  private static List<SparkListenerEvent> events() {
    List<SparkListenerEvent> events = new ArrayList<>();
    Map<String, Long> written = figures("write.records", "write.rowBytes", "write.blockBytes", "write.stockBytes",
        "write.spills", "write.encodeNanos", "write.commitNanos", "write.mapOutputs");
    Map<String, Long> read = figures("read.records", "read.localBytes", "read.remoteBytes", "read.fetchWaitNanos",
        "read.frames", "read.decodeNanos");
    for (int shuffle = 0; shuffle < SHUFFLES; shuffle++) {
      events.add(shuffle % 10 == 0
          ? ShuffleRegistered.of(shuffle, ShuffleRegistered.SPARK, "CODEC", "spark.io.compression.codec is lzf", 8, 3)
          : ShuffleRegistered.of(shuffle, ShuffleRegistered.SQL_ROWS, null, null, 8, 3));
      events.addAll(StageSummary.of(shuffle, 2 * shuffle, 0, written));
      events.addAll(StageSummary.of(shuffle, 2 * shuffle + 1, 0, read));
    }
    Map<String, Long> figures = figures("memory.limitBytes", "memory.usedBytes", "memory.peakBytes", "cache.usedBytes",
        "transport.connections", "transport.peerFailures");
    for (int executor = 0; executor < EXECUTORS; executor++) {
      String id = Integer.toString(executor);
      events.add(ExecutorSelfTest.of(id, "host-" + id + ".example.org", executor % 10 != 0, "what the library said"));
      events.add(ExecutorFigures.of(id, figures));
    }
    return events;
  }

  private static Map<String, Long> figures(String... names) {
    Map<String, Long> figures = new TreeMap<>();
    for (String name : names) {
      figures.put(name, 123_456_789L);
    }
    return figures;
  }
}
