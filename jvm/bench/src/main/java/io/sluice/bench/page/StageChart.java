package io.sluice.bench.page;

import io.sluice.bench.protocol.StageMetrics;
import io.sluice.bench.report.BenchResult;
import io.sluice.bench.report.Comparison;
import java.util.List;
import org.jfree.chart.renderer.category.StackedBarRenderer;
import org.jfree.chart.renderer.category.StandardBarPainter;
import org.jfree.data.category.DefaultCategoryDataset;

/** Where the tasks' time went: a stacked bar per comparison and engine. */
final class StageChart {

  private static final List<String> PARTS = List.of("map", "shuffle write", "fetch wait", "reduce");
  private static final int FRAME = 86;
  private static final int BAR = 29;

  private StageChart() {}

  /** Whether {@code result} was written by a version that recorded stages. */
  static boolean recorded(BenchResult result) {
    return result.stages() != null && !result.stages().isEmpty();
  }

  /** The chart of those of {@code comparisons} that have stages, at least one, as SVG. */
  static String of(List<Comparison> comparisons) {
    DefaultCategoryDataset dataset = new DefaultCategoryDataset();
    double longest = 0;
    for (Comparison comparison : comparisons) {
      for (BenchResult result : comparison.results().stream().filter(StageChart::recorded).toList()) {
        double[] parts = parts(result.stages());
        double sum = 0;
        for (int i = 0; i < parts.length; i++) {
          dataset.addValue(parts[i], PARTS.get(i), comparison.label() + ", " + result.engine());
          sum += parts[i];
        }
        longest = Math.max(longest, sum);
      }
    }
    int height = FRAME + BAR * dataset.getColumnCount();
    return Svg.of(Chart.chart(dataset, renderer(), "seconds, added over tasks", Math.max(longest, 1e-3) * 1.03),
        "stages", "Task time by part, workload and engine", Chart.WIDTH, height);
  }

  /**
   * Seconds of every part. A stage that reads no shuffle is a map stage; what a stage does besides writing map
   * output and waiting for blocks belongs to it: generating, serializing and partitioning records to the map
   * part, decoding, sorting and aggregating them to the reduce part.
   */
  static double[] parts(List<StageMetrics> stages) {
    double[] parts = new double[PARTS.size()];
    for (StageMetrics stage : stages) {
      double rest = Math.max(0, stage.runS() - stage.writeS() - stage.fetchWaitS());
      parts[stage.shuffleReadBytes() == 0 ? 0 : 3] += rest;
      parts[1] += stage.writeS();
      parts[2] += stage.fetchWaitS();
    }
    return parts;
  }

  private static StackedBarRenderer renderer() {
    StackedBarRenderer renderer = new StackedBarRenderer();
    renderer.setBarPainter(new StandardBarPainter());
    renderer.setShadowVisible(false);
    renderer.setDrawBarOutline(false);
    for (int i = 0; i < PARTS.size(); i++) {
      renderer.setSeriesPaint(i, Palette.PARTS[i]);
    }
    return renderer;
  }
}
