package io.sluice.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.sluice.spark.executor.ExecutorGauge;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.policy.FallbackReason;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import org.junit.jupiter.api.Test;

/** {@code docs/metrics.md} equals the declared metrics; {@code -Dsluice.writeDocs=true} writes it. */
class MetricsPageTest {
  private static final Path PAGE = Path.of(System.getProperty("sluice.repository"), "docs", "metrics.md");

  private static String page() {
    StringBuilder page = new StringBuilder("""
        # Metrics

        Generated from `Counter`, `ExecutorGauge` and `FallbackReason` by `MetricsPageTest`, which holds this page equal
        to the code.

        With the plugin (`spark.plugins=io.sluice.spark.SluicePlugin`) each is a metric of Spark's metrics system, on
        the driver and on every executor, named
        `<application id>.<executor id>.plugin.io.sluice.spark.SluicePlugin.<metric>`: for the JSON servlet of the UI,
        Prometheus, JMX and the other sinks of `metrics.properties`. Sizes are in bytes, times in nanoseconds.

        ## Counters, since the process started

        | metric | |
        | --- | --- |
        """);
    for (Counter counter : Counter.values()) {
      row(page, counter.id(), counter.label());
    }
    page.append(
        "\n## Gauges of an executor\n\nNaN while a value cannot be read; the log has the first failure of each.\n\n"
            + "| metric | |\n| --- | --- |\n");
    for (ExecutorGauge gauge : ExecutorGauge.values()) {
      row(page, gauge.id(), gauge.label());
    }
    page.append("\n## Shuffles left to Spark's sort shuffle, by reason; counted on the driver\n\n")
        .append("| metric | because |\n| --- | --- |\n");
    for (FallbackReason reason : FallbackReason.values()) {
      row(page, reason.metric(), reason.text());
    }
    return page.toString();
  }

  private static void row(StringBuilder page, String id, String text) {
    page.append("| `").append(id).append("` | ").append(text).append(" |\n");
  }

  @Test
  void pageEqualsTheDeclaredMetrics() throws IOException {
    if (Boolean.getBoolean("sluice.writeDocs")) {
      Files.writeString(PAGE, page());
    }
    assertEquals(page(), Files.readString(PAGE), "run this test with -Dsluice.writeDocs=true");
  }

  @Test
  void metricNamesAreUniqueAndNoneIsAPrefixOfAnother() {
    List<String> names = new ArrayList<>();
    List.of(Counter.values()).forEach(counter -> names.add(counter.id()));
    List.of(ExecutorGauge.values()).forEach(gauge -> names.add(gauge.id()));
    List.of(FallbackReason.values()).forEach(reason -> names.add(reason.metric()));
    assertEquals(names.size(), new HashSet<>(names).size());
    assertEquals(List.of(),
        names.stream().filter(name -> names.stream().anyMatch(o -> o.startsWith(name + "."))).toList());
  }
}
