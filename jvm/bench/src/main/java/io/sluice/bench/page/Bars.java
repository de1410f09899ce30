package io.sluice.bench.page;

import io.sluice.bench.report.BenchResult;
import io.sluice.bench.report.Comparison;
import io.sluice.bench.report.Statistics;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.jfree.data.category.DefaultCategoryDataset;

/**
 * The figures of one bar chart: a row of bars per engine, a group of bars per comparison.
 *
 * @param labels of the groups, from the top
 * @param engines of the bars in a group, from the top
 * @param bars by engine, then group; null where an engine was not measured
 */
record Bars(List<String> labels, List<String> engines, List<List<Bar>> bars) {

  private static final double MB = 1e6;
  /** Smaller figures have a digit behind the point. */
  private static final double TENTHS_BELOW = 100;

  /**
   * One bar.
   *
   * @param value its length; {@code min} and {@code max} are the ends of its whisker
   * @param label the text behind it
   * @param strong whether the text is emphasised, as the figure that matters most
   */
  record Bar(double value, double min, double max, String label, boolean strong) {}

  private interface Figure {
    Bar of(Comparison comparison, BenchResult result);
  }

  /** Median seconds with the fastest and slowest run, and how many times as fast as stock that is. */
  static Bars times(List<Comparison> comparisons) {
    return of(comparisons, (comparison, result) -> {
      Statistics seconds = Statistics.of(result.runsS(), Double::doubleValue);
      return bar(seconds, " s", comparison.speedup(result).map(ratio -> figure("%.2f×", ratio)));
    });
  }

  /** Megabytes written to shuffles, and the part of stock's. */
  static Bars bytes(List<Comparison> comparisons) {
    return of(comparisons, (comparison, result) -> bar(Statistics.of(result.shuffleWriteBytes() / MB), " MB",
        comparison.bytesPart(result).map(part -> figure("%.0f %%", 100 * part))));
  }

  /** Seconds of CPU of the executor processes, and the part of stock's. */
  static Bars processCpu(List<Comparison> comparisons) {
    return of(comparisons, (comparison, result) -> bar(Statistics.of(result.processCpuS()), " s",
        comparison.processCpuPart(result).map(part -> figure("%.0f %%", 100 * part))));
  }

  private static Bar bar(Statistics spread, String unit, Optional<String> ratio) {
    String form = spread.median() < TENTHS_BELOW ? "%.1f" : "%,.0f";
    String label = figure(form, spread.median()) + unit + ratio.map(text -> "  ·  " + text).orElse("");
    return new Bar(spread.median(), spread.min(), spread.max(), label, ratio.isPresent());
  }

  private static String figure(String form, double value) {
    return String.format(Locale.ROOT, form, value);
  }

  private static Bars of(List<Comparison> comparisons, Figure figure) {
    List<String> engines = comparisons.stream().flatMap(each -> each.results().stream()).map(BenchResult::engine)
        .distinct().toList();
    List<List<Bar>> bars = new ArrayList<>();
    for (String engine : engines) {
      List<Bar> row = new ArrayList<>();
      for (Comparison comparison : comparisons) {
        row.add(comparison.on(engine).map(result -> figure.of(comparison, result)).orElse(null));
      }
      bars.add(row);
    }
    return new Bars(comparisons.stream().map(Comparison::label).toList(), engines, bars);
  }

  Bar at(int engine, int group) {
    return bars.get(engine).get(group);
  }

  /** The right end of the longest whisker. */
  double max() {
    return bars.stream().flatMap(List::stream).filter(bar -> bar != null).mapToDouble(Bar::max).max().orElse(0);
  }

  DefaultCategoryDataset dataset() {
    DefaultCategoryDataset dataset = new DefaultCategoryDataset();
    for (int engine = 0; engine < engines.size(); engine++) {
      for (int group = 0; group < labels.size(); group++) {
        Bar bar = at(engine, group);
        dataset.addValue(bar == null ? null : bar.value(), engines.get(engine), labels.get(group));
      }
    }
    return dataset;
  }
}
