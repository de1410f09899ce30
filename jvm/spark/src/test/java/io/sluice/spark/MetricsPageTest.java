package io.sluice.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.sluice.spark.executor.ExecutorGauge;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.ExchangeMetric;
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

        Generated from `Counter`, `ExecutorGauge`, `FallbackReason` and `ExchangeMetric` by `MetricsPageTest`, which
        holds this page equal to the code. What to make of them: [monitoring/](monitoring/README.md).

        With the plugin (`spark.plugins=io.sluice.spark.SluicePlugin`) each is a metric of Spark's metrics system, on
        the driver and on every executor, named
        `<application id>.<executor id>.plugin.io.sluice.spark.SluicePlugin.<metric>`: for the JSON servlet of the UI,
        Prometheus, JMX and the other sinks of `metrics.properties`. Metrics without a unit are counts.

        ## Counters, since the process started

        | metric | unit | |
        | --- | --- | --- |
        """);
    for (Counter counter : Counter.values()) {
      row(page, counter.id(), counter.unit(), counter.label());
    }
    page.append(
        """

        ## Gauges of an executor

        NaN while a value cannot be read; the log has the first failure of each. Those of the arena and of the transport
        are up to a fifth of a second old, so that one native call serves all.

        | metric | unit | |
        | --- | --- | --- |
        """);
    for (ExecutorGauge gauge : ExecutorGauge.values()) {
      row(page, gauge.id(), gauge.unit(), gauge.label());
    }
    page.append(
        """

        ## Shuffles left to Spark, by reason

        Spark's sort shuffle does these; they are counted on the driver. The driver's log and the page *Diagnosis* of
        the tab *Sluice* name the reason, too.

        | metric | because | what to do |
        | --- | --- | --- |
        """);
    for (FallbackReason reason : FallbackReason.values()) {
      row(page, reason.metric(), reason.text() + " | " + reason.remedy());
    }
    page.append("""

        ## Metrics of plan nodes

        In the graph of Spark's SQL tab, at the node `SluicePartitions` below an exchange; without the plugin there is
        no such node. The node `SluiceSort` shows, beside Spark's metrics of a sort, how many rows the numbers made of
        their keys put in order, and how many had to be compared because such numbers were equal. These numbers are
        computed, not guessed: a sort has nothing to refute.

        | metric | shown as |
        | --- | --- |
        """);
    for (ExchangeMetric metric : ExchangeMetric.values()) {
      row(page, metric.id(), metric.label());
    }
    return page.toString();
  }

  private static void row(StringBuilder page, String id, Counter.Unit unit, String text) {
    String name = switch (unit) {
      case BYTES -> "bytes";
      case NANOS -> "ns";
      case COUNT -> "";
    };
    row(page, id, name + " | " + text);
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
