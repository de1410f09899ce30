package io.sluice.bench.page;

import java.awt.BasicStroke;
import java.awt.Graphics2D;
import java.awt.geom.Line2D;
import java.awt.geom.Rectangle2D;
import org.jfree.chart.axis.CategoryAxis;
import org.jfree.chart.axis.ValueAxis;
import org.jfree.chart.plot.CategoryPlot;
import org.jfree.chart.plot.PlotOrientation;
import org.jfree.chart.renderer.category.BarRenderer;
import org.jfree.chart.renderer.category.CategoryItemRendererState;
import org.jfree.chart.renderer.category.StandardBarPainter;
import org.jfree.data.category.CategoryDataset;

/**
 * Horizontal bars with a line from the smallest to the largest value and a label behind it.
 * (JFreeChart's statistical bars know only spreads that are the same to both sides.)
 */
final class WhiskerBarRenderer extends BarRenderer {

  private static final long serialVersionUID = 1L;
  private static final double CAP = 3;
  private static final double LABEL_GAP = 7;

  private final transient Bars bars;

  WhiskerBarRenderer(Bars bars) {
    this.bars = bars;
    setBarPainter(new StandardBarPainter());
    setShadowVisible(false);
    setDrawBarOutline(false);
    setItemMargin(0.06);
    for (int i = 0; i < bars.engines().size(); i++) {
      setSeriesPaint(i, Palette.engine(bars.engines().get(i)));
    }
  }

  @Override
  public void drawItem(Graphics2D graphics, CategoryItemRendererState state, Rectangle2D area, CategoryPlot plot,
      CategoryAxis domain, ValueAxis range, CategoryDataset dataset, int row, int column, int pass) {
    super.drawItem(graphics, state, area, plot, domain, range, dataset, row, column, pass);
    Bars.Bar bar = bars.at(row, column);
    if (bar == null) {
      return;
    }
    double middle = calculateBarW0(plot, PlotOrientation.HORIZONTAL, area, domain, state, row, column)
        + state.getBarWidth() / 2;
    double min = range.valueToJava2D(bar.min(), area, plot.getRangeAxisEdge());
    double max = range.valueToJava2D(bar.max(), area, plot.getRangeAxisEdge());
    if (max - min >= 1) {
      graphics.setPaint(Palette.WHISKER);
      graphics.setStroke(new BasicStroke(1.2f));
      graphics.draw(new Line2D.Double(min, middle, max, middle));
      graphics.draw(new Line2D.Double(min, middle - CAP, min, middle + CAP));
      graphics.draw(new Line2D.Double(max, middle - CAP, max, middle + CAP));
    }
    graphics.setPaint(Palette.TEXT);
    graphics.setFont(bar.strong() ? Palette.STRONG : Palette.FIGURE);
    float baseline = (float) (middle + graphics.getFontMetrics().getAscent() / 2.0 - 1.5);
    graphics.drawString(bar.label(), (float) (max + LABEL_GAP), baseline);
  }
}
