package io.sluice.bench.page;

import io.sluice.bench.protocol.ProcessCosts;
import io.sluice.bench.protocol.StageMetrics;
import io.sluice.bench.report.BenchResult;
import io.sluice.bench.report.Comparison;
import io.sluice.bench.report.Environment;
import io.sluice.bench.report.Statistics;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/** The tables of the page. */
final class Tables {

  private static final double MB = 1e6;

  private Tables() {}

  /** Every figure of every result. */
  static String results(List<Comparison> comparisons) {
    HtmlTable table = new HtmlTable(
        List.of("workload", "engine", "rows", "median s", "min", "max", "runs", "times as fast", "floor", "written MB",
            "read MB", "spilled MB", "process CPU s", "task CPU s", "GC s", "fallbacks"),
        List.of("name", "name", "", "", "", "", "", "", "", "", "", "", "", "", "", ""));
    for (Comparison comparison : comparisons) {
      for (BenchResult result : comparison.results()) {
        Statistics seconds = Statistics.of(result.runsS(), Double::doubleValue);
        boolean first = result == comparison.results().get(0);
        table.row(first, List.of(first ? comparison.label() : "", result.engine(), count(result.rows()),
            seconds(result.medianS()), seconds(seconds.min()), seconds(seconds.max()),
            Integer.toString(result.runsS().size()),
            comparison.speedup(result).map(ratio -> String.format(Locale.ROOT, "%.2f×", ratio)).orElse(""),
            floor(result),
            megabytes(result.shuffleWriteBytes()), megabytes(result.shuffleReadBytes()),
            megabytes(result.spilledBytes()), seconds(result.processCpuS()), seconds(result.cpuS()),
            seconds(result.gcS()), Long.toString(result.sluiceFallbacks())));
      }
    }
    return table.render();
  }

  /** What all processes of an engine took, of the results that tell it. */
  static String processes(List<Comparison> comparisons) {
    HtmlTable table = new HtmlTable(List.of("workload", "engine", "CPU s", "of it servers", "peak memory MB",
        "written to disks MB", "over loopback MB"), List.of("name", "name", "", "", "", "", ""));
    for (Comparison comparison : comparisons) {
      boolean first = true;
      for (BenchResult result : comparison.results().stream().filter(one -> one.processes() != null).toList()) {
        ProcessCosts all = result.processes();
        table.row(first, List.of(first ? comparison.label() : "", result.engine(), seconds(all.cpuS()),
            seconds(all.serversCpuS()), megabytes(all.peakRssBytes()), megabytes(all.writtenBytes()),
            all.loopbackBytes() == null ? "" : megabytes(all.loopbackBytes())));
        first = false;
      }
    }
    return table.render();
  }

  private static String floor(BenchResult result) {
    return result.floor() == 0 ? ""
        : String.format(Locale.ROOT, "%.2f%s", result.floor(), result.belowFloor() ? " BELOW" : "");
  }

  /** The stages of {@code comparison}. */
  static String stages(Comparison comparison) {
    HtmlTable table = new HtmlTable(
        List.of("engine", "stage", "tasks", "run s", "CPU s", "write s", "fetch wait s", "GC s", "written MB",
            "read MB"),
        List.of("name", "name long", "", "", "", "", "", "", "", ""));
    for (BenchResult result : comparison.results().stream().filter(StageChart::recorded).toList()) {
      boolean first = true;
      for (StageMetrics stage : result.stages()) {
        table.row(first, List.of(first ? result.engine() : "", stage.name(), count(stage.tasks()),
            seconds(stage.runS()), seconds(stage.cpuS()), seconds(stage.writeS()), seconds(stage.fetchWaitS()),
            seconds(stage.gcS()), megabytes(stage.shuffleWriteBytes()), megabytes(stage.shuffleReadBytes())));
        first = false;
      }
    }
    return table.render();
  }

  /** How and where every comparison was made. */
  static String environments(List<Comparison> comparisons) {
    HtmlTable table = new HtmlTable(
        List.of("workloads", "command", "started (UTC)", "commit", "Spark", "machine", "master", "settings"),
        List.of("name long", "name long", "name", "name", "name", "name long", "name", "name long"));
    Map<BenchResult, List<String>> labels = comparisons.stream().collect(Collectors.groupingBy(
        comparison -> reference(comparison, comparisons), LinkedHashMap::new,
        Collectors.mapping(Comparison::label, Collectors.toList())));
    labels.forEach((result, names) -> {
      Environment environment = result.environment();
      table.row(false, List.of(String.join(", ", names), environment.command(),
          environment.started().replace("T", " ").replace("Z", ""),
          environment.commit() == null ? "" : environment.commit(), result.spark(), environment.machine(),
          environment.where(), settings(environment)));
    });
    return table.render();
  }

  /** The first result that was made as those of {@code comparison} were. */
  private static BenchResult reference(Comparison comparison, List<Comparison> all) {
    BenchResult own = comparison.results().get(0);
    return all.stream().map(each -> each.results().get(0)).filter(other -> other.spark().equals(own.spark())
        && other.environment().equals(own.environment())).findFirst().orElse(own);
  }

  private static String settings(Environment environment) {
    String conf = environment.conf() == null ? "" : environment.conf().entrySet().stream()
        .map(setting -> setting.getKey() + "=" + setting.getValue()).collect(Collectors.joining(" "));
    String partitions = environment.partitions() > 0 ? ", partitions " + environment.partitions() : "";
    String scale = environment.scale() == null ? "" : ", scale " + environment.scale();
    return ("maps " + environment.maps() + partitions + scale + " " + conf).strip();
  }

  private static String count(long value) {
    return String.format(Locale.ROOT, "%,d", value);
  }

  private static String seconds(double value) {
    return String.format(Locale.ROOT, "%.2f", value);
  }

  private static String megabytes(long bytes) {
    return String.format(Locale.ROOT, "%,.1f", bytes / MB);
  }
}
