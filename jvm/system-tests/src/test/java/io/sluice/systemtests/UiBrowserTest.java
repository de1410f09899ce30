package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The tab's pages in a headless browser, in a light and a dark theme ({@code tools/browser}); skipped where {@code
 * ./sluice test} could not install it.
 */
@Tag("once")
class UiBrowserTest {
  private static final Path BROWSER = Paths.get(System.getProperty("browser.home"));
  private static final long LIMIT_SECONDS = 300;
  private static final long ROWS = 1_000;
  private static final List<String> PAGES = Arrays.asList("", "shuffles/", "timeline/", "executors/", "diagnosis/");

  @TempDir private Path folder;

  @Test
  void pagesAreFreeOfErrorsAndReachedByTheKeyboard() throws Exception {
    assumeTrue(Engine.UNDER_TEST.isSluice(), "another manager is tested");
    assumeTrue(Files.exists(BROWSER.resolve(".complete")), "no browser in " + BROWSER);
    try (SparkApplication application = SparkApplication.on(Engine.UNDER_TEST)
        .set("spark.ui.enabled", "true").set("spark.ui.port", "0").start()) {
      assertEquals(ROWS, Fingerprint.of(Tables.events(application.session(), ROWS, 2).repartition(2, col("k"))).rows());
      application.events();
      int port = URI.create(application.session().sparkContext().uiWebUrl().get()).getPort();
      List<String> command = new ArrayList<>(Arrays.asList("node", BROWSER.resolve("pages.mjs").toString(),
          BROWSER.resolve("chromium").toString()));
      PAGES.forEach(page -> command.add("http://127.0.0.1:" + port + "/sluice/" + page));
      Path output = folder.resolve("browser.txt");
      Process browser = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile()).start();
      boolean ended = browser.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS);
      browser.destroyForcibly();
      String problems = new String(Files.readAllBytes(output));
      assertTrue(ended, "the browser has not ended: " + problems);
      assertEquals(0, browser.waitFor(), problems);
    }
  }
}
