package io.sluice.bench.page;

import io.sluice.bench.report.BenchResult;
import io.sluice.bench.report.Comparison;
import io.sluice.bench.report.BenchmarkSummary;
import io.sluice.bench.run.Engine;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.BiFunction;
import org.jfree.chart.JFreeChart;
import org.jfree.chart.axis.CategoryAxis;
import org.jfree.chart.plot.CategoryPlot;
import org.jfree.chart.plot.PlotOrientation;
import org.jfree.chart.renderer.category.BarRenderer;
import org.jfree.chart.renderer.category.StandardBarPainter;
import org.jfree.data.category.DefaultCategoryDataset;

/** Vertical bars for many queries side by side. */
final class QueryChart {

  /** How many queries can be told apart in one chart. */
  static final int QUERIES = 26;

  private static final int HEIGHT = 300;
  private static final double HEADROOM = 1.05;

  private QueryChart() {}

  /** Median seconds, and how many times as fast as stock Sluice is; {@code id} starts the ids of the SVG element. */
  static String times(List<Comparison> queries, String id) {
    return draw(Bars.times(queries), labels(queries, Comparison::speedup, "%.2f"), id + "-times",
        "Seconds per query and engine", "seconds");
  }

  /** Megabytes written to shuffles, and the part of stock's. */
  static String bytes(List<Comparison> queries, String id) {
    return draw(Bars.bytes(queries), labels(queries, Comparison::bytesPart, "%.2f"), id + "-bytes",
        "Megabytes written to shuffles per query and engine", "MB written");
  }

  /** The queries' names, with Sluice's ratio where there is one. */
  private static List<String> labels(List<Comparison> queries,
      BiFunction<Comparison, BenchResult, Optional<Double>> ratio, String form) {
    return queries.stream().map(query -> BenchmarkSummary.name(query) + query.on(Engine.SLUICE.label())
        .flatMap(result -> ratio.apply(query, result))
        .map(value -> " " + String.format(Locale.ROOT, form, value)).orElse("")).toList();
  }

  private static String draw(Bars bars, List<String> labels, String id, String title, String axis) {
    DefaultCategoryDataset dataset = new DefaultCategoryDataset();
    for (int engine = 0; engine < bars.engines().size(); engine++) {
      for (int query = 0; query < labels.size(); query++) {
        Bars.Bar bar = bars.at(engine, query);
        dataset.addValue(bar == null ? null : bar.value(), bars.engines().get(engine), labels.get(query));
      }
    }
    JFreeChart chart = Chart.chart(dataset, renderer(bars.engines()), axis, Math.max(bars.max(), 1e-3) * HEADROOM);
    CategoryPlot plot = chart.getCategoryPlot();
    plot.setOrientation(PlotOrientation.VERTICAL);
    CategoryAxis categories = plot.getDomainAxis();
    // The query's name above its ratio: the label breaks at the space between them.
    categories.setMaximumCategoryLabelLines(2);
    categories.setMaximumCategoryLabelWidthRatio(1);
    categories.setTickLabelFont(Palette.FIGURE);
    categories.setCategoryLabelPositionOffset(4);
    return Svg.of(chart, id, title, Chart.WIDTH, HEIGHT);
  }

  private static BarRenderer renderer(List<String> engines) {
    BarRenderer renderer = new BarRenderer();
    renderer.setBarPainter(new StandardBarPainter());
    renderer.setShadowVisible(false);
    renderer.setDrawBarOutline(false);
    renderer.setItemMargin(0.06);
    renderer.setMaximumBarWidth(0.05);
    for (int i = 0; i < engines.size(); i++) {
      renderer.setSeriesPaint(i, Palette.engine(engines.get(i)));
    }
    return renderer;
  }
}
