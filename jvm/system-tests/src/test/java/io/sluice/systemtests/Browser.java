package io.sluice.systemtests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** The headless browser of {@code tools/browser}, which {@code ./sluice test} installs. */
final class Browser {
  private static final Path HOME = Paths.get(System.getProperty("browser.home"));
  private static final long LIMIT_SECONDS = 300;
  private static final List<String> PAGES = Arrays.asList("", "shuffles/", "timeline/", "executors/", "diagnosis/");

  private final Path output;

  private Browser(Path output) {
    this.output = output;
  }

  /** Skips the test where there is none. */
  static Browser orSkip(Path folder) {
    assumeTrue(Files.exists(HOME.resolve(".complete")), "no browser in " + HOME);
    return new Browser(folder.resolve("browser.txt"));
  }

  /** The addresses of the tab's pages; of the timeline, that of a shuffle too. */
  static List<String> pagesOf(String ui, int shuffle) {
    List<String> urls = new ArrayList<>();
    PAGES.forEach(page -> urls.add(ui + "/sluice/" + page));
    urls.add(ui + "/sluice/timeline/?id=" + shuffle);
    return urls;
  }

  /** Opens each page in a light and a dark theme; fails with what is wrong with them. */
  void assertFreeOfProblems(List<String> urls) throws IOException, InterruptedException {
    List<String> arguments = new ArrayList<>(Arrays.asList(HOME.resolve("chromium").toString()));
    arguments.addAll(urls);
    run(arguments);
  }

  /** Writes the upper part of a page as it looks in a window of 1,280 pixels. */
  void picture(String theme, int height, Path file, String url) throws IOException, InterruptedException {
    run(Arrays.asList("--picture", HOME.resolve("chromium").toString(), theme, Integer.toString(height),
        file.toString(), url));
  }

  private void run(List<String> arguments) throws IOException, InterruptedException {
    List<String> command = new ArrayList<>(Arrays.asList("node", HOME.resolve("pages.mjs").toString()));
    command.addAll(arguments);
    Process browser = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile()).start();
    boolean ended = browser.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS);
    browser.destroyForcibly();
    String problems = new String(Files.readAllBytes(output));
    assertTrue(ended, "the browser has not ended: " + problems);
    assertEquals(0, browser.waitFor(), problems);
  }
}
