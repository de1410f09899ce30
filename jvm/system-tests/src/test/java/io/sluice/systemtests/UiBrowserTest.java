package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.sluice.nativebridge.NativeCore;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The tab's pages in a headless browser, in a light and a dark theme ({@code tools/browser}): no errors, reached by the
 * keyboard, readable. Skipped where {@code ./sluice test} could not install it.
 */
class UiBrowserTest {
  private static final long LIMIT_SECONDS = 300;
  private static final long ROWS = 1_000;

  @TempDir private Path folder;

  @Test
  @Tag("once")
  void pagesAreFreeOfErrorsDuringAJob() throws Exception {
    Browser browser = browser();
    try (SparkApplication application = application().start()) {
      assertGoodDuringAJob(browser, application);
    }
  }

  /** On every line, because Bootstrap differs among them, and in a History Server, whose pages have another frame. */
  @Test
  @InAll
  void pagesAreFreeOfErrorsOnThisLineAndAfterwards() throws Exception {
    Browser browser = browser();
    Path eventLogs = Files.createDirectories(folder.resolve("events"));
    String id;
    try (SparkApplication application = application().set("spark.eventLog.enabled", "true")
        .set("spark.eventLog.dir", eventLogs.toUri().toString()).start()) {
      id = application.session().sparkContext().applicationId();
      assertGoodDuringAJob(browser, application);
    }
    String jar = Paths.get(NativeCore.class.getProtectionDomain().getCodeSource().getLocation().toURI()).toString();
    try (HistoryServer server = HistoryServer.start(eventLogs, jar, folder.resolve("history.log"))) {
      browser.assertFreeOfProblems(Browser.pagesOf(server.awaitUiOf(id), 0));
    }
  }

  private Browser browser() {
    assumeTrue(Engine.UNDER_TEST.isSluice(), "another manager is tested");
    return Browser.orSkip(folder);
  }

  private static SparkApplication.Builder application() {
    return SparkApplication.on(Engine.UNDER_TEST).set("spark.ui.enabled", "true").set("spark.ui.port", "0");
  }

  /** One shuffle is written and read, another one is Spark's, and of a third one the readers run. */
  private void assertGoodDuringAJob(Browser browser, SparkApplication application) throws Exception {
    SparkSession session = application.session();
    assertEquals(ROWS, shuffled(application));
    session.conf().set("spark.sluice.enabled", "false");
    assertEquals(ROWS, shuffled(application));
    session.conf().set("spark.sluice.enabled", "true");
    Path gate = Files.createDirectories(folder.resolve("gate"));
    Gate.register(session, "gate", gate);
    CompletableFuture<Long> job = CompletableFuture.supplyAsync(() -> Fingerprint
        .of(Tables.events(session, ROWS, 2).repartition(2, col("k")).selectExpr("gate(id) AS id")).rows());
    try {
      Gate.awaitReached(gate);
      application.events();
      browser.assertFreeOfProblems(
          Browser.pagesOf("http://127.0.0.1:" + URI.create(session.sparkContext().uiWebUrl().get()).getPort(), 0));
      assertTrue(!job.isDone() && session.sparkContext().statusTracker().getActiveJobIds().length > 0,
          "the job has ended before the pages were opened");
    } finally {
      Gate.open(gate);
    }
    assertEquals(ROWS, job.get(LIMIT_SECONDS, TimeUnit.SECONDS));
  }

  private static long shuffled(SparkApplication application) {
    return Fingerprint.of(Tables.events(application.session(), ROWS, 2).repartition(2, col("k"))).rows();
  }
}
