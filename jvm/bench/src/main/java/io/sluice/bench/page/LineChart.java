package io.sluice.bench.page;

import java.awt.BasicStroke;
import java.awt.Color;
import java.text.NumberFormat;
import java.util.List;
import java.util.Locale;
import org.jfree.chart.axis.NumberAxis;
import org.jfree.chart.plot.CombinedDomainXYPlot;
import org.jfree.chart.plot.XYPlot;
import org.jfree.chart.renderer.xy.XYLineAndShapeRenderer;
import org.jfree.data.xy.DefaultXYDataset;

/** Panels of lines, one below the other, with one axis of time for all. */
public final class LineChart {

  private static final int FRAME = 86;
  private static final int PANEL = 150;
  private static final double GAP = 14;
  private static final double HEADROOM = 1.05;
  private static final float WIDTH = 1.6f;
  private static final BasicStroke DASHED =
      new BasicStroke(WIDTH, BasicStroke.CAP_BUTT, BasicStroke.JOIN_ROUND, 1, new float[] {6, 4}, 0);

  /**
   * A line.
   *
   * @param name in the legend, which is that of the first panel
   * @param engine whose colour it has
   */
  public record Line(String name, String engine, boolean dashed, double[] x, double[] y) {}

  /** Lines above the axis of time; {@code axis} says what they are. */
  public record Panel(String axis, List<Line> lines) {}

  private LineChart() {}

  /** {@code panels}, at least one, as SVG; their values begin at 0, so that little growth looks little. */
  public static String of(List<Panel> panels, String time, String id, String title) {
    NumberAxis domain = axis(time);
    domain.setAutoRangeIncludesZero(true);
    CombinedDomainXYPlot all = new CombinedDomainXYPlot(domain);
    all.setGap(GAP);
    all.setBackgroundPaint(Color.WHITE);
    List<XYPlot> plots = panels.stream().map(LineChart::plot).toList();
    plots.forEach(all::add);
    all.setFixedLegendItems(plots.get(0).getLegendItems());
    return Svg.of(Chart.framed(all), id, title, Chart.WIDTH, FRAME + PANEL * panels.size());
  }

  private static XYPlot plot(Panel panel) {
    DefaultXYDataset dataset = new DefaultXYDataset();
    XYLineAndShapeRenderer renderer = new XYLineAndShapeRenderer(true, false);
    renderer.setDrawSeriesLineAsPath(true);
    double end = 0;
    for (int i = 0; i < panel.lines().size(); i++) {
      Line line = panel.lines().get(i);
      dataset.addSeries(line.name(), new double[][] {line.x(), line.y()});
      renderer.setSeriesPaint(i, Palette.engine(line.engine()));
      renderer.setSeriesStroke(i, line.dashed() ? DASHED : new BasicStroke(WIDTH));
      for (double value : line.y()) {
        end = Math.max(end, value);
      }
    }
    NumberAxis values = axis(panel.axis());
    values.setRange(0, Math.max(end, 1) * HEADROOM);
    XYPlot plot = new XYPlot(dataset, null, values, renderer);
    plot.setBackgroundPaint(Color.WHITE);
    plot.setOutlineVisible(false);
    plot.setDomainGridlinesVisible(false);
    plot.setRangeGridlinePaint(Palette.GRID);
    plot.setRangeGridlineStroke(new BasicStroke(1));
    return plot;
  }

  private static NumberAxis axis(String label) {
    NumberAxis axis = new NumberAxis(label);
    axis.setLabelFont(Palette.FIGURE);
    axis.setLabelPaint(Palette.TEXT);
    axis.setTickLabelFont(Palette.FIGURE);
    axis.setTickLabelPaint(Palette.TEXT);
    axis.setTickMarksVisible(false);
    axis.setAxisLineVisible(false);
    axis.setNumberFormatOverride(NumberFormat.getNumberInstance(Locale.ROOT));
    return axis;
  }
}
