package io.sluice.bench.page;

import java.awt.BasicStroke;
import java.awt.Color;
import java.text.NumberFormat;
import java.util.List;
import java.util.Locale;
import org.jfree.chart.axis.LogAxis;
import org.jfree.chart.plot.CombinedDomainXYPlot;
import org.jfree.chart.plot.XYPlot;
import org.jfree.chart.renderer.xy.XYLineAndShapeRenderer;
import org.jfree.data.xy.DefaultXYDataset;

/** Seconds by the number of hosts, both in powers of ten, in panels one below the other. */
public final class HostsChart {

  private static final int FRAME = 86;
  private static final int PANEL = 260;
  private static final double GAP = 22;
  private static final float WIDTH = 1.6f;
  private static final double ROOM = 1.3;

  /**
   * A line with its points.
   *
   * @param engine its name in the legend, and whose colour it has
   * @param hosts ascending, at least 1
   * @param seconds above 0
   */
  public record Line(String engine, double[] hosts, double[] seconds) {}

  /** Lines of one kind of host. */
  public record Panel(String hosts, List<Line> lines) {}

  private HostsChart() {}

  /** {@code panels}, at least one, as SVG. */
  public static String of(List<Panel> panels, String id, String title) {
    CombinedDomainXYPlot all = new CombinedDomainXYPlot(axis("hosts"));
    all.setGap(GAP);
    all.setBackgroundPaint(Color.WHITE);
    List<XYPlot> plots = panels.stream().map(HostsChart::plot).toList();
    plots.forEach(all::add);
    all.setFixedLegendItems(plots.get(0).getLegendItems());
    return Svg.of(Chart.framed(all), id, title, Chart.WIDTH, FRAME + PANEL * panels.size());
  }

  private static XYPlot plot(Panel panel) {
    DefaultXYDataset dataset = new DefaultXYDataset();
    XYLineAndShapeRenderer renderer = new XYLineAndShapeRenderer(true, true);
    double least = Double.MAX_VALUE;
    double most = 0;
    for (int i = 0; i < panel.lines().size(); i++) {
      Line line = panel.lines().get(i);
      dataset.addSeries(line.engine(), new double[][] {line.hosts(), line.seconds()});
      renderer.setSeriesPaint(i, Palette.engine(line.engine()));
      renderer.setSeriesStroke(i, new BasicStroke(WIDTH));
      for (double value : line.seconds()) {
        least = Math.min(least, value);
        most = Math.max(most, value);
      }
    }
    LogAxis values = axis("seconds, hosts with " + panel.hosts());
    values.setRange(least / ROOM, most * ROOM);
    XYPlot plot = new XYPlot(dataset, null, values, renderer);
    plot.setBackgroundPaint(Color.WHITE);
    plot.setOutlineVisible(false);
    plot.setDomainGridlinePaint(Palette.GRID);
    plot.setRangeGridlinePaint(Palette.GRID);
    plot.setRangeGridlineStroke(new BasicStroke(1));
    return plot;
  }

  private static LogAxis axis(String label) {
    LogAxis axis = new LogAxis(label);
    axis.setBase(10);
    axis.setLabelFont(Palette.FIGURE);
    axis.setLabelPaint(Palette.TEXT);
    axis.setTickLabelFont(Palette.FIGURE);
    axis.setTickLabelPaint(Palette.TEXT);
    axis.setMinorTickMarksVisible(false);
    axis.setNumberFormatOverride(NumberFormat.getNumberInstance(Locale.ROOT));
    return axis;
  }
}
