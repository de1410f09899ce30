package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.expr;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.sluice.nativebridge.NativeCore;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The tab Sluice of this line's UI: while an application runs, and afterwards in a History Server with and without the
 * jar.
 */
class UiTabTest {
  private static final long ROWS = 20_000;
  private static final int SLICES = 4;
  private static final List<String> PAGES = Arrays.asList("", "shuffles/", "timeline/", "executors/", "diagnosis/");

  @TempDir private Path folder;
  private Path eventLogs;
  private String applicationId;

  @BeforeEach
  void run() throws IOException {
    assumeTrue(Engine.UNDER_TEST.isSluice(), "another manager is tested");
    eventLogs = Files.createDirectories(folder.resolve("events"));
    runWithOpenUi();
  }

  @Test
  void theTabIsThereDuringTheJobAndAfterwards() throws Exception {
    String jar = Paths.get(NativeCore.class.getProtectionDomain().getCodeSource().getLocation().toURI()).toString();
    try (HistoryServer server = HistoryServer.start(eventLogs, jar, folder.resolve("with.log"))) {
      String ui = server.awaitUiOf(applicationId);
      assertTrue(WebPage.get(ui + "/jobs/").contains("/sluice/"), server::output);
      assertShowsTheJobs(ui);
      assertShowsMetricsOfNodes(ui.substring(0, ui.indexOf("/history/")));
      assertAnswersByRest(ui.substring(0, ui.indexOf("/history/")));
    }
  }

  @Test
  void aHistoryServerWithoutTheJarOpensTheLogAsEver() throws Exception {
    try (HistoryServer server = HistoryServer.start(eventLogs, "", folder.resolve("without.log"))) {
      String ui = server.awaitUiOf(applicationId);
      String jobs = WebPage.get(ui + "/jobs/");
      assertTrue(jobs.contains("Completed Jobs"), jobs);
      assertFalse(jobs.contains("/sluice/"), jobs);
      String stage = WebPage.get(ui + "/stages/stage/?id=0&attempt=0");
      assertTrue(stage.contains("Details for Stage 0"), stage);
    }
  }

  /**
   * A log of a later version, which has an event and fields that this one does not know, and of an earlier one, which
   * lacks some: the tab shows the rest, and Spark's own pages are as ever.
   */
  @InAll
  @Test
  @Tag("once")
  void logsOfOtherVersionsAreShownAsFarAsTheyAreUnderstood() throws Exception {
    Path log = Files.list(eventLogs).filter(Files::isRegularFile)
        .filter(file -> !file.getFileName().toString().startsWith(".")).findFirst().get();
    List<String> lines = new ArrayList<>();
    for (String line : Files.readAllLines(log)) {
      if (line.contains("\"io.sluice.spark.events.StageTasks\"")
          || line.contains("\"io.sluice.spark.events.ShuffleColumns\"")) {
        // Earlier versions had none of these.
        continue;
      }
      lines.add(line.contains("\"io.sluice.spark.events.StageSummary\"")
          ? line.replaceFirst("\"version\":1", "\"version\":2,\"later\":{\"a\":[1,\"<script>alert(1)</script>\"]}")
          : line);
      if (line.contains("\"io.sluice.spark.events.ShuffleRegistered\"")) {
        lines.add("{\"Event\":\"io.sluice.spark.events.OfALaterVersion\",\"version\":2,\"x\":1}");
        lines.add("{\"Event\":\"io.sluice.spark.events.ExecutorFigures\",\"version\":1,\"executorId\":\"driver\"}");
      }
    }
    Files.write(log, lines);
    Files.deleteIfExists(log.resolveSibling("." + log.getFileName() + ".crc"));
    String jar = Paths.get(NativeCore.class.getProtectionDomain().getCodeSource().getLocation().toURI()).toString();
    try (HistoryServer server = HistoryServer.start(eventLogs, jar, folder.resolve("other.log"))) {
      String ui = server.awaitUiOf(applicationId);
      assertShowsTheJobs(ui);
      assertTrue(WebPage.get(ui + "/jobs/").contains("Completed Jobs"), server::output);
    }
  }

  private void runWithOpenUi() throws IOException {
    try (SparkApplication application = SparkApplication.on(Engine.UNDER_TEST)
        .set("spark.app.name", "<script>alert(1)</script>")
        .set("spark.sluice.mode", "MULTITHREADED")
        .set("spark.ui.enabled", "true").set("spark.ui.port", "0")
        .set("spark.eventLog.compress", "false").set("spark.eventLog.rolling.enabled", "false")
        .set("spark.eventLog.enabled", "true").set("spark.eventLog.dir", eventLogs.toUri().toString())
        .start()) {
      applicationId = application.session().sparkContext().applicationId();
      // An action, because only those are in the SQL tab.
      assertEquals(ROWS,
          Tables.events(application.session(), ROWS, SLICES).repartition(SLICES, col("k")).collectAsList().size());
      // No shuffle, and a sort that stays Spark's.
      assertEquals(ROWS, Tables.events(application.session(), ROWS, SLICES).sortWithinPartitions(expr("array(k, id)"))
          .collectAsList().size());
      application.session().conf().set("spark.sluice.enabled", "false");
      assertEquals(ROWS,
          Fingerprint.of(Tables.events(application.session(), ROWS, SLICES).repartition(SLICES, col("k"))).rows());
      // Twice, because one listener posts what another one shows.
      application.events();
      application.events();
      int port = java.net.URI.create(application.session().sparkContext().uiWebUrl().get()).getPort();
      assertShowsTheJobs("http://127.0.0.1:" + port);
      assertShowsMetricsOfNodes("http://127.0.0.1:" + port);
      assertAnswersByRest("http://127.0.0.1:" + port);
    }
  }

  /** Spark's REST interface has the values that the graph of its SQL tab shows. */
  private void assertShowsMetricsOfNodes(String server) throws IOException {
    String queries = WebPage.get(server + "/api/v1/applications/" + applicationId + "/sql?details=true");
    assertTrue(queries.contains("\"SluicePartitions\""), queries);
    for (String label : Arrays.asList("encode time", "encoded bytes", "frames read", "decode time")) {
      assertTrue(queries.contains("\"" + label + "\""), () -> label + " in " + queries);
    }
  }

  private void assertAnswersByRest(String server) throws IOException {
    String sluice = server + "/api/v1/applications/" + applicationId + "/sluice";
    String overview = WebPage.get(sluice);
    assertTrue(overview.contains("\"write.records\" : 20000"), overview);
    assertTrue(overview.contains("\"spark.sluice.enabled is false\" : 1"), overview);
    assertTrue(overview.contains("\"only Spark knows the order of a key, or when to compute it\" : 1"), overview);
    String shuffle = WebPage.get(sluice + "/shuffles/0");
    assertTrue(shuffle.contains("\"path\" : \"SQL_ROWS\""), shuffle);
    assertTrue(WebPage.get(sluice + "/shuffles").contains("\"shuffleId\" : 1"), "the second shuffle");
    assertTrue(WebPage.get(sluice + "/executors").contains("\"executorId\" : \"driver\""), "the executor");
    assertTrue(WebPage.get(sluice + "/diagnosis").contains("1 shuffle went Spark's way"), "the diagnosis");
    assertThrows(FileNotFoundException.class, () -> WebPage.get(sluice + "/shuffles/77"));
    assertThrows(FileNotFoundException.class, () -> WebPage.get(sluice + "/shuffles/x"));
    assertThrows(FileNotFoundException.class,
        () -> WebPage.get(server + "/api/v1/applications/app-0/sluice/executors"));
    // Spark's own resources are as they were.
    assertTrue(WebPage.get(server + "/api/v1/applications/" + applicationId + "/jobs").contains("\"jobId\""), "jobs");
  }

  private static void assertShowsTheJobs(String ui) throws IOException {
    String overview = WebPage.get(ui + "/sluice/");
    assertTrue(overview.contains("Sluice, rows of SQL</th><td>1</td>"), overview);
    assertTrue(overview.contains("Rows written</th><td>20,000</td>"), overview);
    assertTrue(overview.contains("Rows read</th><td>20,000</td>"), overview);
    assertTrue(overview.contains("because spark.sluice.enabled is false</th><td>1</td>"), overview);
    String shuffles = WebPage.get(ui + "/sluice/shuffles/");
    assertTrue(shuffles.contains("<tr id=\"shuffle-0\">"), shuffles);
    assertTrue(shuffles.contains("Spark&#39;s sort shuffle, because spark.sluice.enabled is false"), shuffles);
    String timeline = WebPage.get(ui + "/sluice/timeline/?id=0");
    assertTrue(timeline.contains(" writes it</h5>") && timeline.contains(" reads it</h5>"), timeline);
    assertTrue(timeline.contains("<svg role=\"img\" aria-label=\"Stage "), timeline);
    assertTrue(WebPage.get(ui + "/sluice/timeline/?id=1").contains(" writes it</h5>"), "Spark's shuffle");
    assertTrue(WebPage.get(ui + "/sluice/executors/").contains("<td>driver</td>"));
    String diagnosis = WebPage.get(ui + "/sluice/diagnosis/");
    assertTrue(diagnosis.contains("1 shuffle went Spark&#39;s way"), diagnosis);
    assertTrue(diagnosis.contains("1 sort in a SQL plan stays Spark&#39;s because only Spark knows"), diagnosis);
    for (String page : PAGES) {
      assertFalse(WebPage.get(ui + "/sluice/" + page).contains("<script>alert"), page);
    }
  }
}
