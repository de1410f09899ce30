package io.sluice.spark.ui;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.sluice.spark.events.SluiceEvent;
import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

import org.apache.spark.util.JsonProtocol$;

/**
 * Event logs that earlier versions have written stay readable, with all that they say. The logs are in the folder
 * {@code event-logs} of the test's resources, named by the day of the version that wrote them. None is ever changed:
 * an event or a field that is new comes in a log of its own.
 */
class OldEventLogTest {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final String OURS = "{\"Event\":\"io.sluice.";

  private static List<Path> logs() throws IOException, URISyntaxException {
    Path folder = Path.of(OldEventLogTest.class.getResource("event-logs").toURI());
    try (Stream<Path> files = Files.list(folder)) {
      return files.sorted().toList();
    }
  }

  private static List<String> events() throws IOException, URISyntaxException {
    List<String> lines = new ArrayList<>();
    for (Path log : logs()) {
      Files.readAllLines(log).stream().filter(line -> line.startsWith(OURS)).forEach(lines::add);
    }
    return lines;
  }

  /** A field that was renamed, or is read as another type, is not written again as it was. */
  @Test
  void everyFieldOfAnOldEventIsReadAndWrittenAgain() throws Exception {
    for (String line : events()) {
      SluiceEvent event = (SluiceEvent) JsonProtocol$.MODULE$.sparkEventFromJson(line);
      JsonNode now = MAPPER.readTree(JsonProtocol$.MODULE$.sparkEventToJsonString(event));
      Iterator<Map.Entry<String, JsonNode>> fields = MAPPER.readTree(line).fields();
      while (fields.hasNext()) {
        Map.Entry<String, JsonNode> field = fields.next();
        assertEquals(field.getValue(), now.get(field.getKey()), () -> field.getKey() + " of " + line);
      }
    }
  }

  @Test
  void everyEventAndFieldThatIsDocumentedIsInALog() throws Exception {
    Set<String> written = new TreeSet<>();
    for (String line : events()) {
      JsonNode event = MAPPER.readTree(line);
      String name = event.get("Event").asText().replaceAll(".*\\.", "");
      event.fieldNames().forEachRemaining(field -> written.add(name + "." + field));
    }
    Set<String> documented = new TreeSet<>();
    String event = "";
    for (String line : Files.readAllLines(Path.of(System.getProperty("sluice.repository"), "docs", "events.md"))) {
      if (line.startsWith("## ")) {
        event = line.substring(3);
      } else if (line.startsWith("| `")) {
        documented.add(event + "." + Pattern.compile("[| ]").splitAsStream(line).filter(part -> !part.isEmpty())
            .findFirst().orElseThrow().replace("`", ""));
      }
    }
    Set<String> missing = documented.stream().filter(field -> !written.contains(field))
        .collect(Collectors.toCollection(TreeSet::new));
    assertEquals(Set.of(), missing, "put such an event of this version into a new file beside the others");
  }

  private static String tabOf(Path log) throws Exception {
    LogReport report = new LogReport();
    List<String> unread = new ArrayList<>();
    for (String line : Files.readAllLines(log)) {
      if (LogReport.wants(line)) {
        try {
          report.take(line);
        } catch (RuntimeException e) {
          unread.add(line + ": " + e);
        }
      }
    }
    assertEquals(List.of(), unread);
    String html = report.html("old", "").replace('\u00a0', ' ');
    PagesTest.assertIsWellFormed(html);
    return html;
  }

  @Test
  void theTabShowsEveryOldLog() throws Exception {
    for (Path log : logs()) {
      assertFalse(tabOf(log).contains("No executor has ended"), log.toString());
    }
  }

  /** Two executors of the version of 2026-11-25, in mode UCX: four repartitions, and one with Sluice switched off. */
  @Test
  void theTabShowsWhatAnOldLogSays() throws Exception {
    String html = tabOf(logs().get(0));
    for (String part : List.of("Sluice, rows of SQL</th><td>4</td>", "Spark&#39;s sort shuffle</th><td>1</td>",
        "because spark.sluice.enabled is false</th><td>1</td>", "Rows written</th><td>240,000</td>",
        "Rows read</th><td>240,000</td>", "Mode</th><td>UCX</td>", "Spark 4.2.0, Java 17.0.15",
        "1 known, 1 connected", "<td>executor 1</td>",
        "How its columns are encoded", " writes it</h5>", " reads it</h5>",
        "1 shuffle went Spark&#39;s way because spark.sluice.enabled is false")) {
      assertTrue(html.contains(part), part + " in " + html);
    }
    assertFalse(html.contains("not known"), html);
  }
}
