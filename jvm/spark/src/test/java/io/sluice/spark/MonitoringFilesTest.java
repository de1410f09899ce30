package io.sluice.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.sluice.spark.executor.ExecutorGauge;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.policy.FallbackReason;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;

/** The files of {@code docs/monitoring} are well formed, and name only metrics that there are. */
class MonitoringFilesTest {
  private static final Path FOLDER = Path.of(System.getProperty("sluice.repository"), "docs", "monitoring");
  private static final Pattern NAME = Pattern.compile("\\bsluice_([A-Za-z0-9_]+)");
  private static final Set<String> SEVERITIES = Set.of("critical", "warning", "info");

  /** Of every metric, as the exporters name it: with {@code _} for {@code .}. */
  private static Set<String> names() {
    Set<String> names = new HashSet<>();
    List.of(Counter.values()).forEach(counter -> names.add(counter.id()));
    List.of(ExecutorGauge.values()).forEach(gauge -> names.add(gauge.id()));
    List.of(FallbackReason.values()).forEach(reason -> names.add(reason.metric()));
    Set<String> exported = new HashSet<>();
    names.forEach(name -> exported.add(name.replace('.', '_')));
    assertEquals(names.size(), exported.size(), "two metrics would have the same name");
    return exported;
  }

  private static String read(String file) throws IOException {
    return Files.readString(FOLDER.resolve(file));
  }

  private static Object yaml(String file) throws IOException {
    LoaderOptions options = new LoaderOptions();
    options.setAllowDuplicateKeys(false);
    return new Yaml(options).load(read(file));
  }

  private static JsonNode json(String file) throws IOException {
    return new ObjectMapper().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS).readTree(read(file));
  }

  @ParameterizedTest
  @ValueSource(strings = {"grafana-dashboard.json", "prometheus-alerts.yml", "prometheus.yml", "README.md"})
  void everyMetricThatIsNamedExists(String file) throws IOException {
    Set<String> known = names();
    Set<String> unknown = new TreeSet<>();
    int found = 0;
    Matcher matcher = NAME.matcher(read(file));
    while (matcher.find()) {
      String name = matcher.group(1);
      // Names of several metrics end so: sluice_shuffles_fallback_.* or …
      boolean exists = known.contains(name)
          || known.stream().anyMatch(other -> other.startsWith(name)) && isPrefix(file, matcher.end());
      if (!exists) {
        unknown.add(name);
      }
      found++;
    }
    assertEquals(Set.of(), unknown);
    assertTrue(found > 0 || file.equals("prometheus.yml"), "no metric is named");
  }

  private static boolean isPrefix(String file, int end) throws IOException {
    String rest = read(file).substring(end);
    return rest.startsWith(".*") || rest.startsWith("…");
  }

  @Test
  @SuppressWarnings("unchecked")
  void everyAlertIsComplete() throws IOException {
    Map<String, Object> file = (Map<String, Object>) yaml("prometheus-alerts.yml");
    Set<String> alerts = new HashSet<>();
    for (Map<String, Object> group : (List<Map<String, Object>>) file.get("groups")) {
      for (Map<String, Object> rule : (List<Map<String, Object>>) group.get("rules")) {
        String alert = (String) rule.get("alert");
        assertTrue(alerts.add(alert), () -> alert + " is there twice");
        assertTrue(alert.matches("Sluice[A-Z][A-Za-z]+"), alert);
        assertTrue(NAME.matcher((String) rule.get("expr")).find(), alert);
        assertTrue(SEVERITIES.contains(((Map<String, String>) rule.get("labels")).get("severity")), alert);
        Map<String, String> annotations = (Map<String, String>) rule.get("annotations");
        assertEquals(Set.of("summary", "description"), annotations.keySet(), alert);
        assertTrue(balanced((String) rule.get("expr")), alert);
      }
    }
    assertTrue(alerts.size() >= 12, alerts::toString);
    // promtool runs these tests with ./sluice test --all.
    String tests = Files.readString(FOLDER.resolve("../../tools/alerts/alerts-test.yml"));
    alerts.forEach(alert -> assertTrue(tests.contains("alertname=\"" + alert + "\""), () -> alert + " has no test"));
  }

  private static boolean balanced(String text) {
    int depth = 0;
    for (char c : text.toCharArray()) {
      depth += c == '(' || c == '{' || c == '[' ? 1 : c == ')' || c == '}' || c == ']' ? -1 : 0;
      if (depth < 0) {
        return false;
      }
    }
    return depth == 0;
  }

  @Test
  @SuppressWarnings("unchecked")
  void prometheusReadsTheAlerts() throws IOException {
    Map<String, Object> file = (Map<String, Object>) yaml("prometheus.yml");
    for (String rules : (List<String>) file.get("rule_files")) {
      assertTrue(Files.exists(FOLDER.resolve(rules)), rules);
    }
    assertEquals(2, ((List<?>) file.get("scrape_configs")).size());
    assertTrue(json("spark-targets.json").get(0).get("targets").size() > 0);
  }

  /** That it matches what Spark offers, the system test of sinks says. */
  @Test
  @SuppressWarnings("unchecked")
  void theExportersRuleIsAPattern() throws IOException {
    Map<String, Object> file = (Map<String, Object>) yaml("jmx-exporter.yml");
    for (Map<String, Object> rule : (List<Map<String, Object>>) file.get("rules")) {
      assertNotNull(Pattern.compile((String) rule.get("pattern")));
      assertEquals("sluice_$3", rule.get("name"));
    }
  }

  @Test
  void theDashboardsPanelsDoNotOverlapAndEachAsksSomething() throws IOException {
    JsonNode board = json("grafana-dashboard.json");
    Set<Integer> ids = new HashSet<>();
    List<int[]> places = new ArrayList<>();
    for (JsonNode panel : board.get("panels")) {
      String title = panel.get("title").asText();
      assertTrue(ids.add(panel.get("id").asInt()), title);
      JsonNode at = panel.get("gridPos");
      int[] place = {at.get("x").asInt(), at.get("y").asInt(), at.get("w").asInt(), at.get("h").asInt()};
      assertTrue(place[0] + place[2] <= 24, title);
      places.forEach(other -> assertFalse(overlap(place, other), title));
      places.add(place);
      if (!panel.get("type").asText().equals("row")) {
        assertFalse(panel.get("description").asText().isEmpty(), title);
        for (JsonNode target : panel.get("targets")) {
          assertTrue(balanced(target.get("expr").asText()), () -> title + ": " + target);
        }
        assertTrue(panel.get("targets").size() > 0, title);
      }
    }
    assertEquals(3, board.get("templating").get("list").size());
  }

  private static boolean overlap(int[] a, int[] b) {
    return a[0] < b[0] + b[2] && b[0] < a[0] + a[2] && a[1] < b[1] + b[3] && b[1] < a[1] + a[3];
  }
}
