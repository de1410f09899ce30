package io.sluice.bench.report;

import io.sluice.bench.run.Engine;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** Sorts of more and more rows in a tenth of their size, beside stock, as Markdown. */
final class SpillFigures {

  private static final double MB = 1e6;
  private static final double MILLION = 1e6;

  private SpillFigures() {}

  /** A row per workload, rows and engine; then whether Sluice's lead stays as rows grow. */
  static String render(List<BenchResult> results) {
    List<Comparison> all = Comparison.of(results);
    List<String> lines = new ArrayList<>(List.of(
        "| workload | rows | engine | median | times as fast | spilled | of stock's | shuffle bytes | of stock's "
            + "| failed tasks |",
        "| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"));
    for (Comparison comparison : all) {
      for (BenchResult result : comparison.results()) {
        lines.add(MarkdownFigures.row("`" + result.workload() + "`", rows(result), result.engine(),
            String.format(Locale.ROOT, "%.1f s", result.medianS()), speedup(comparison, result),
            megabytes(result.spilledBytes()), part(comparison, result, result.spilledBytes(),
                comparison.stock().map(BenchResult::spilledBytes)),
            megabytes(result.shuffleWriteBytes()), part(comparison, result, result.shuffleWriteBytes(),
                comparison.stock().map(BenchResult::shuffleWriteBytes)),
            Long.toString(result.failedTasks())));
      }
    }
    return String.join("\n", lines) + "\n\n" + growth(all) + "\n\n" + MarkdownFigures.setup(results);
  }

  /** The speed relative to stock beside that with the fewest rows, which is the goal. */
  private static String growth(List<Comparison> all) {
    List<String> lines = new ArrayList<>(List.of("| workload | rows | times as fast as stock | goal | |",
        "| --- | ---: | ---: | ---: | --- |"));
    all.stream().map(each -> each.results().get(0).workload()).distinct().forEach(workload -> {
      List<Comparison> own = all.stream().filter(each -> each.results().get(0).workload().equals(workload))
          .filter(each -> each.on(Engine.SLUICE.label()).flatMap(each::speedup).isPresent())
          .sorted(Comparator.comparingLong(each -> each.results().get(0).rows())).toList();
      for (Comparison each : own.subList(Math.min(1, own.size()), own.size())) {
        double goal = ratio(own.get(0));
        lines.add(MarkdownFigures.row("`" + workload + "`", rows(each.results().get(0)),
            String.format(Locale.ROOT, "**%.2f**", ratio(each)), String.format(Locale.ROOT, "%.2f", goal),
            ratio(each) >= goal ? "met" : "not met"));
      }
    });
    return String.join("\n", lines);
  }

  private static double ratio(Comparison comparison) {
    return comparison.on(Engine.SLUICE.label()).flatMap(comparison::speedup).orElseThrow();
  }

  private static String speedup(Comparison comparison, BenchResult result) {
    return comparison.speedup(result).map(ratio -> String.format(Locale.ROOT, "**%.2f**", ratio)).orElse("");
  }

  private static String part(Comparison comparison, BenchResult result, long bytes, Optional<Long> stocks) {
    return comparison.speedup(result).isEmpty() || stocks.orElse(0L) <= 0 ? ""
        : String.format(Locale.ROOT, "%.2f", (double) bytes / stocks.get());
  }

  private static String rows(BenchResult result) {
    return result.rows() % MILLION == 0 ? String.format(Locale.ROOT, "%,.0f M", result.rows() / MILLION)
        : String.format(Locale.ROOT, "%,d", result.rows());
  }

  private static String megabytes(long bytes) {
    return String.format(Locale.ROOT, "%,d MB", Math.round(bytes / MB));
  }
}
