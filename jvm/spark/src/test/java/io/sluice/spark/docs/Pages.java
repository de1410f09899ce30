package io.sluice.spark.docs;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The blocks of code of the documentation's pages, so that tests read them as they are printed. */
final class Pages {
  private static final Pattern TESTED = Pattern.compile("\\s*<!-- tested by (.*) -->");

  private Pages() {}

  /**
   * The blocks of a page in this language that their comments say this test reads, in their order.
   *
   * @param page from the root of the repository
   */
  static List<String> blocks(String page, String test, String language) throws IOException {
    List<String> lines = Files.readAllLines(Path.of(System.getProperty("sluice.repository"), page));
    List<String> found = new ArrayList<>();
    for (int i = 0; i + 1 < lines.size(); i++) {
      Matcher tested = TESTED.matcher(lines.get(i));
      if (tested.matches() && Arrays.asList(tested.group(1).split(",\\s*")).contains(test)
          && lines.get(i + 1).strip().equals("```" + language)) {
        int end = i + 2;
        while (!lines.get(end).strip().equals("```")) {
          end++;
        }
        found.add(String.join("\n", lines.subList(i + 2, end)));
      }
    }
    if (found.isEmpty()) {
      throw new AssertionError(page + " has no block of " + language + " that is tested by " + test);
    }
    return found;
  }
}
