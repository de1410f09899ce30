package io.sluice.bench.report;

import io.sluice.bench.protocol.DriverCosts;
import io.sluice.bench.run.Engine;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;

/** What shuffles cost the driver, beside stock: as Markdown, and as the table that {@code ./sluice bench} prints. */
public final class DriverFigures {

  private static final double KIB = 1024;

  private record Figure(String title, ToDoubleFunction<BenchResult> of) {}

  private static final List<Figure> FIGURES = List.of(
      new Figure("time, s", BenchResult::medianS),
      new Figure("CPU of the driver, s", result -> result.driver().cpuS()),
      new Figure("map statuses, KiB", result -> result.driver().statusBytes() / KIB),
      new Figure("heap of the driver, KiB", result -> result.driver().heapBytes() / KIB));

  private DriverFigures() {}

  /** The table for a terminal; empty if no result has such figures. */
  public static String render(List<BenchResult> results) {
    List<BenchResult> measured = measured(results);
    if (measured.isEmpty()) {
      return "";
    }
    List<String> header = new ArrayList<>(List.of("driver", "engine", "shuffles"));
    FIGURES.forEach(figure -> header.add(figure.title()));
    TextTable table = new TextTable(2, header.toArray(String[]::new));
    measured.forEach(result -> table.row(cells(result.workload(), result)));
    return table.render();
  }

  /** The figures of every workload and engine, then Sluice's relative to stock's, which are to be at most 1. */
  static String markdown(List<BenchResult> results) {
    List<String> header = new ArrayList<>(List.of("workload", "engine", "shuffles"));
    FIGURES.forEach(figure -> header.add(figure.title()));
    List<String> lines = new ArrayList<>(List.of(MarkdownFigures.row(header.toArray(String[]::new)),
        "| --- | --- | ---: |" + " ---: |".repeat(FIGURES.size())));
    measured(results).forEach(result -> lines.add(MarkdownFigures.row(cells(MarkdownFigures.named(result), result))));
    lines.addAll(List.of("", "| workload | figure | Sluice's relative to stock's | goal | |",
        "| --- | --- | ---: | ---: | --- |"));
    for (Comparison each : Comparison.of(measured(results))) {
      each.stock().ifPresent(stock -> each.on(Engine.SLUICE.label()).ifPresent(sluice -> FIGURES.forEach(figure -> {
        double reference = figure.of().applyAsDouble(stock);
        if (reference > 0) {
          double ratio = figure.of().applyAsDouble(sluice) / reference;
          lines.add(MarkdownFigures.row("`" + each.label() + "`", figure.title(),
              String.format(Locale.ROOT, "**%.3f**", ratio), "1.000", ratio <= 1 ? "met" : "not met"));
        }
      })));
    }
    return String.join("\n", lines) + "\n\n" + MarkdownFigures.setup(results);
  }

  private static List<BenchResult> measured(List<BenchResult> results) {
    return results.stream().filter(result -> result.driver() != null).toList();
  }

  private static String[] cells(String name, BenchResult result) {
    DriverCosts driver = result.driver();
    List<String> cells = new ArrayList<>(List.of(name, result.engine(), String.format(Locale.ROOT, "%,d",
        driver.shuffles())));
    FIGURES.forEach(figure -> cells.add(String.format(Locale.ROOT, "%,.1f", figure.of().applyAsDouble(result))));
    return cells.toArray(String[]::new);
  }
}
