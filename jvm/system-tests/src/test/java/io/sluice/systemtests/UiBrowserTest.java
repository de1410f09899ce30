package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The tab's pages in a real browser, where Debian's chromium is installed; else the test is skipped with a message. */
@Tag("once")
class UiBrowserTest {
  private static final Path CHROMIUM = Paths.get("/usr/bin/chromium");
  private static final long LIMIT_SECONDS = 120;
  private static final long ROWS = 1_000;
  private static final List<String> PAGES = Arrays.asList("", "shuffles/", "timeline/", "executors/", "diagnosis/");

  @TempDir private Path folder;

  @Test
  void pagesGiveNoConsoleErrors() throws Exception {
    assumeTrue(Engine.UNDER_TEST.isSluice(), "another manager is tested");
    assumeTrue(Files.isExecutable(CHROMIUM), "no " + CHROMIUM + "; it comes with apt-get install chromium");
    try (SparkApplication application = SparkApplication.on(Engine.UNDER_TEST)
        .set("spark.ui.enabled", "true").set("spark.ui.port", "0").start()) {
      assertEquals(ROWS, Fingerprint.of(Tables.events(application.session(), ROWS, 2).repartition(2, col("k"))).rows());
      application.events();
      int port = URI.create(application.session().sparkContext().uiWebUrl().get()).getPort();
      for (String page : PAGES) {
        assertNoErrors("http://127.0.0.1:" + port + "/sluice/" + page);
      }
    }
  }

  private void assertNoErrors(String url) throws IOException, InterruptedException {
    Path dom = folder.resolve("dom.html");
    Path log = folder.resolve("browser.log");
    Process browser = new ProcessBuilder(CHROMIUM.toString(), "--headless", "--no-sandbox", "--disable-gpu",
        "--window-size=1280,1000", "--user-data-dir=" + folder.resolve("profile"), "--enable-logging=stderr",
        "--dump-dom", url).redirectOutput(dom.toFile()).redirectError(log.toFile()).start();
    try {
      assertTrue(browser.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS), "the browser has not ended");
    } finally {
      browser.destroyForcibly();
    }
    String shown = new String(Files.readAllBytes(dom));
    assertTrue(shown.contains("aria-current=\"page\""), shown);
    // All that can be clicked is a link, a button, a field or a summary, which the tabulator key reaches.
    String page = shown.substring(shown.indexOf("aria-current=\"page\""));
    assertFalse(page.contains("onclick=") || page.contains("tabindex=\"-1\""), page);
    String messages = new String(Files.readAllBytes(log));
    assertFalse(messages.contains("CONSOLE"), messages);
  }
}
