package io.sluice.bench.page;

import java.awt.BasicStroke;
import java.awt.Color;
import java.text.NumberFormat;
import java.util.Locale;
import org.jfree.chart.JFreeChart;
import org.jfree.chart.axis.AxisLocation;
import org.jfree.chart.axis.CategoryAxis;
import org.jfree.chart.axis.NumberAxis;
import org.jfree.chart.block.BlockBorder;
import org.jfree.chart.plot.CategoryPlot;
import org.jfree.chart.plot.Plot;
import org.jfree.chart.plot.PlotOrientation;
import org.jfree.chart.renderer.category.CategoryItemRenderer;
import org.jfree.chart.title.LegendTitle;
import org.jfree.chart.ui.HorizontalAlignment;
import org.jfree.chart.ui.RectangleEdge;
import org.jfree.chart.ui.RectangleInsets;
import org.jfree.data.category.CategoryDataset;

/** Horizontal bar charts in the style of this report; their titles are on the page around them. */
final class Chart {

  /** Pixels at natural size. */
  static final int WIDTH = 920;
  private static final int FRAME = 86;
  private static final int BAR = 19;
  private static final int GROUP_GAP = 18;
  /** Room behind the longest bar for its label, as a part of it. */
  private static final double LABEL_ROOM = 0.2;

  private Chart() {}

  /** Bars per engine with whiskers and labels, as SVG. */
  static String bars(Bars bars, String id, String title, String axis) {
    int height = FRAME + bars.labels().size() * (GROUP_GAP + bars.engines().size() * BAR);
    double end = Math.max(bars.max(), 1e-3) * (1 + LABEL_ROOM);
    return Svg.of(chart(bars.dataset(), new WhiskerBarRenderer(bars), axis, end), id, title, WIDTH, height);
  }

  /** A chart of {@code dataset} whose value axis goes from 0 to {@code end}. */
  static JFreeChart chart(CategoryDataset dataset, CategoryItemRenderer renderer, String axis, double end) {
    CategoryPlot plot = new CategoryPlot(dataset, categories(), values(axis, end), renderer);
    plot.setOrientation(PlotOrientation.HORIZONTAL);
    plot.setRangeAxisLocation(AxisLocation.BOTTOM_OR_LEFT);
    plot.setBackgroundPaint(Color.WHITE);
    plot.setOutlineVisible(false);
    plot.setRangeGridlinePaint(Palette.GRID);
    plot.setRangeGridlineStroke(new BasicStroke(1));
    plot.setInsets(new RectangleInsets(4, 4, 4, 12));
    return framed(plot);
  }

  /** {@code plot} on white, its legend above it. */
  static JFreeChart framed(Plot plot) {
    JFreeChart chart = new JFreeChart(null, null, plot, false);
    chart.setBackgroundPaint(Color.WHITE);
    chart.setPadding(RectangleInsets.ZERO_INSETS);
    LegendTitle legend = new LegendTitle(plot);
    legend.setPosition(RectangleEdge.TOP);
    legend.setHorizontalAlignment(HorizontalAlignment.LEFT);
    legend.setItemFont(Palette.LABEL);
    legend.setItemPaint(Palette.TEXT);
    legend.setItemLabelPadding(new RectangleInsets(2, 4, 4, 18));
    legend.setFrame(BlockBorder.NONE);
    chart.addSubtitle(legend);
    return chart;
  }

  private static CategoryAxis categories() {
    CategoryAxis axis = new CategoryAxis();
    axis.setTickLabelFont(Palette.LABEL);
    axis.setTickLabelPaint(Palette.TEXT);
    axis.setCategoryLabelPositionOffset(10);
    axis.setTickMarksVisible(false);
    axis.setAxisLinePaint(Palette.GRID);
    axis.setLowerMargin(0.01);
    axis.setUpperMargin(0.01);
    axis.setCategoryMargin(0.28);
    axis.setMaximumCategoryLabelWidthRatio(0.4f);
    return axis;
  }

  private static NumberAxis values(String label, double end) {
    NumberAxis axis = new NumberAxis(label);
    axis.setRange(0, end);
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
