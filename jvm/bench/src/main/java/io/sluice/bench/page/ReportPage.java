package io.sluice.bench.page;

import static io.sluice.bench.page.HtmlTable.escaped;

import io.sluice.bench.report.BenchResult;
import io.sluice.bench.report.BenchmarkSummary;
import io.sluice.bench.report.Comparison;
import io.sluice.bench.report.Statistics;
import io.sluice.bench.report.Verdict;
import io.sluice.bench.run.Engine;
import io.sluice.bench.tables.Benchmark;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.BiFunction;

/** The whole report as one HTML file. Not for concurrent use, because JFreeChart's charts are not. */
public final class ReportPage {

  private static final String NONE = "–";

  private ReportPage() {}

  /** The page about {@code comparisons}, at least one. */
  public static String render(List<Comparison> comparisons) {
    StringBuilder page = new StringBuilder("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        + "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        + "<title>Sluice benchmark report</title>\n<style>\n" + style() + "</style>\n</head>\n<body>\n<main>\n");
    page.append("<h1>Sluice benchmark report</h1>\n<p class=\"subtitle\">").append(escaped(subtitle(comparisons)))
        .append("</p>\n").append(tiles(comparisons)).append(faults(comparisons));
    List<Comparison> alone = comparisons.stream().filter(each -> !isQuery(each)).toList();
    if (!alone.isEmpty()) {
      page.append(workloads(alone));
    }
    List<BenchmarkSummary> benchmarks = BenchmarkSummary.of(comparisons);
    benchmarks.forEach(benchmark -> page.append(
        queries(benchmark, benchmark.benchmark().label() + benchmarks.indexOf(benchmark))));
    page.append(section("All figures", "Times and bytes are medians. Process CPU is that of all threads of the "
        + "executors, task CPU that of Spark's task threads alone; floor is how many times as fast Sluice has to be; "
        + "fallbacks are shuffles that Sluice left to Spark.",
        Tables.results(comparisons)));
    if (comparisons.stream().flatMap(each -> each.results().stream()).anyMatch(ReportPage::isPeersWithCosts)) {
      page.append(section("All processes of an engine",
          "Driver, executors and servers together, medians. Memory is the "
              + "most that they had at one time. Loopback is what crossed the machine's interface meanwhile, other "
              + "programs' bytes too.",
          Tables.processes(comparisons)));
    }
    page.append(section("Machine and command", "", Tables.environments(comparisons)));
    return page.append("</main>\n</body>\n</html>\n").toString();
  }

  private static boolean isPeersWithCosts(BenchResult result) {
    return Engine.isPeers(result.engine()) && result.processes() != null;
  }

  private static boolean isQuery(Comparison comparison) {
    return Benchmark.isQuery(comparison.results().get(0).workload());
  }

  /** The charts of the workloads that are not queries of a benchmark. */
  private static String workloads(List<Comparison> comparisons) {
    return section("Time",
        "Median of the counted runs, which were made in turn on all engines; the line spans the fastest and the "
            + "slowest run. The number behind a bar is how many times as fast as Spark's own shuffle (stock) it is: "
            + "above 1 is faster." + bypassNote(comparisons),
        scrolling(times(comparisons)))
        + section("Shuffle bytes", "Bytes that map tasks wrote, and the part of stock's they are. Megabytes of "
            + "10^6 bytes.",
            scrolling(Chart.bars(Bars.bytes(comparisons), "bytes", "Bytes written to shuffles", "MB written")))
        + section("CPU of the executors", "Seconds of CPU of the executor processes with all their threads, those that "
            + "encode, decode, compile and collect garbage too, and the part of stock's they are.",
            scrolling(Chart.bars(Bars.processCpu(comparisons), "cpu", "CPU seconds of the executor processes",
                "seconds of CPU")))
        + stages(comparisons);
  }

  /** The queries of one benchmark: charts of times and of bytes, and their stages to be unfolded. */
  private static String queries(BenchmarkSummary summary, String id) {
    List<Comparison> queries = summary.queries();
    StringBuilder content = new StringBuilder("<p>").append(escaped(String.join(" ", summary.sentences())))
        .append("</p>\n");
    for (int from = 0; from < queries.size(); from += QueryChart.QUERIES) {
      List<Comparison> some = queries.subList(from, Math.min(from + QueryChart.QUERIES, queries.size()));
      String part = from == 0 ? id : id + "-" + from;
      content.append(scrolling(QueryChart.times(some, part))).append(scrolling(QueryChart.bytes(some, part)));
    }
    content.append("<details><summary>Stages of the queries</summary>\n<p class=\"note\">Adaptive execution starts "
        + "stages in another order every time, so that medians of single stages are approximate.</p>\n");
    queries.stream().filter(ReportPage::hasStages).forEach(query -> content.append(unfolding(query)));
    content.append("</details>\n");
    String texts = switch (summary.benchmark()) {
      case TPCH -> "Queries with the specification's validation parameters";
      case TPCDS -> "Queries as Spark publishes them with its tests";
    };
    return section(summary.title(), texts + " on the specification's generated tables, "
        + "planned as Spark does it by default. Below a query: how many times as fast as stock Sluice is, "
        + "and which part of stock's shuffle bytes it writes. This is no audited " + summary.benchmark().title()
        + " result.", content.toString());
  }

  /** The chart of times alone, as an SVG element. */
  public static String times(List<Comparison> comparisons) {
    return Chart.bars(Bars.times(comparisons), "times", "Seconds per workload and engine", "seconds");
  }

  private static String bypassNote(List<Comparison> comparisons) {
    return comparisons.stream().noneMatch(each -> each.on(Engine.NO_NETWORK.label()).isPresent()) ? ""
        : " No-network is stock with blocks of the own executor in place of remote ones, so with wrong results: what "
            + "a network that costs nothing would give.";
  }

  private static String section(String title, String note, String content) {
    String text = note.isEmpty() ? "" : "<p class=\"note\">" + escaped(note) + "</p>\n";
    return "<section>\n<h2>" + escaped(title) + "</h2>\n" + text + content + "</section>\n";
  }

  /** A chart that scrolls sideways where the page is too narrow to show it in a legible size. */
  private static String scrolling(String chart) {
    return "<div class=\"scroll\">" + chart + "</div>\n";
  }

  private static String stages(List<Comparison> comparisons) {
    List<Comparison> recorded = comparisons.stream().filter(ReportPage::hasStages).toList();
    if (recorded.isEmpty()) {
      return "";
    }
    StringBuilder content = new StringBuilder(scrolling(StageChart.of(recorded)));
    recorded.forEach(comparison -> content.append(unfolding(comparison)));
    return section("Where task time goes", "From Spark's task metrics, added over all tasks. Map: making, "
        + "serializing and partitioning records; shuffle write: what Spark counts as writing map output; fetch "
        + "wait: waiting for remote blocks; reduce: everything else in stages that read a shuffle.",
        content.toString());
  }

  private static boolean hasStages(Comparison comparison) {
    return comparison.results().stream().anyMatch(StageChart::recorded);
  }

  private static String unfolding(Comparison comparison) {
    return "<details><summary>Stages of " + escaped(comparison.label()) + "</summary>\n" + Tables.stages(comparison)
        + "</details>\n";
  }

  private static String faults(List<Comparison> comparisons) {
    List<String> faults = comparisons.stream().flatMap(each -> Verdict.faults(each.results()).stream()).toList();
    if (faults.isEmpty()) {
      return "";
    }
    StringBuilder list = new StringBuilder("<section class=\"faults\">\n<h2>Results are wrong</h2>\n<ul>\n");
    faults.forEach(fault -> list.append("<li>").append(escaped(fault)).append("</li>\n"));
    return list.append("</ul>\n</section>\n").toString();
  }

  private static String tiles(List<Comparison> comparisons) {
    long compared = comparisons.stream().filter(each -> each.results().size() > 1).count();
    return "<div class=\"tiles\">\n"
        + tile(mean(comparisons, Comparison::speedup).map(ratio -> figure("%.2f×", ratio)).orElse(NONE),
            "as fast as stock, geometric mean")
        + tile(best(comparisons).map(ratio -> figure("%.2f×", ratio)).orElse(NONE), "as fast as stock, best workload")
        + tile(mean(comparisons, Comparison::bytesPart).map(part -> figure("%.0f %%", 100 * part)).orElse(NONE),
            "of stock's shuffle bytes, geometric mean")
        + tile(mean(comparisons, Comparison::processCpuPart).map(part -> figure("%.0f %%", 100 * part)).orElse(NONE),
            "of the CPU of stock's executors, geometric mean")
        + tile(compared - faulty(comparisons) + " of " + compared, "workloads with equal results")
        + "</div>\n";
  }

  private static long faulty(List<Comparison> comparisons) {
    return comparisons.stream().filter(each -> !Verdict.faults(each.results()).isEmpty()).count();
  }

  private static String tile(String figure, String caption) {
    return "<div class=\"tile\"><b>" + escaped(figure) + "</b><span>" + escaped(caption) + "</span></div>\n";
  }

  private static Optional<Double> best(List<Comparison> comparisons) {
    return comparisons.stream().flatMap(each -> each.on(Engine.SLUICE.label()).flatMap(each::speedup).stream())
        .max(Double::compare);
  }

  /** The geometric mean of {@code ratio} over the workloads that Sluice ran and that have it. */
  private static Optional<Double> mean(List<Comparison> comparisons,
      BiFunction<Comparison, BenchResult, Optional<Double>> ratio) {
    double[] ratios = comparisons.stream()
        .flatMap(each -> each.on(Engine.SLUICE.label()).flatMap(result -> ratio.apply(each, result)).stream())
        .filter(value -> value > 0).mapToDouble(Double::doubleValue).toArray();
    return ratios.length == 0 ? Optional.empty() : Optional.of(Statistics.geometricMean(ratios));
  }

  /** Spark and machine, where all results share them. */
  private static String subtitle(List<Comparison> comparisons) {
    List<BenchResult> results = comparisons.stream().map(each -> each.results().get(0)).toList();
    List<String> sparks = results.stream().map(BenchResult::spark).distinct().toList();
    List<String> machines = results.stream().map(result -> result.environment().machine()).distinct().toList();
    List<String> masters = results.stream().map(result -> result.environment().where()).distinct().toList();
    String where = machines.size() == 1 ? machines.get(0) : machines.size() + " machines";
    String how = masters.size() == 1 ? ", " + masters.get(0) : "";
    return "Spark " + String.join(", ", sparks) + " on " + where + how;
  }

  private static String figure(String form, double value) {
    return String.format(Locale.ROOT, form, value);
  }

  private static String style() {
    try (InputStream css = ReportPage.class.getResourceAsStream("report.css")) {
      return new String(css.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException("report.css cannot be read from the bench jar", e);
    }
  }
}
