package io.sluice.bench.page;

import java.awt.geom.Rectangle2D;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.parsers.ParserConfigurationException;
import org.apache.batik.svggen.DefaultExtensionHandler;
import org.apache.batik.svggen.SVGGeneratorContext;
import org.apache.batik.svggen.SVGGraphics2D;
import org.apache.batik.svggen.SVGGraphics2DIOException;
import org.apache.batik.svggen.SVGIDGenerator;
import org.jfree.chart.JFreeChart;
import org.jfree.chart.text.TextUtils;
import org.w3c.dom.Document;
import org.w3c.dom.Element;

/** Charts as SVG elements, with text as text. */
final class Svg {

  private static final String NAMESPACE = "http://www.w3.org/2000/svg";

  static {
    // Otherwise JFreeChart draws the outlines of turned text.
    TextUtils.setUseDrawRotatedStringWorkaround(false);
  }

  private Svg() {}

  /**
   * {@code chart} as an {@code <svg>} element that scales with the page.
   *
   * @param id starts the ids inside the element, which must differ from those of the page's other charts
   * @param title what the chart shows, for those who cannot see it
   * @param width in pixels at the natural size, like {@code height}
   */
  static String of(JFreeChart chart, String id, String title, int width, int height) {
    SVGGraphics2D graphics = new SVGGraphics2D(context(id), false);
    chart.draw(graphics, new Rectangle2D.Double(0, 0, width, height));
    Element root = graphics.getRoot();
    root.setAttribute("viewBox", "0 0 " + width + " " + height);
    root.setAttribute("width", Integer.toString(width));
    root.setAttribute("role", "img");
    root.setAttribute("aria-label", title);
    StringWriter text = new StringWriter();
    try {
      graphics.stream(root, text, false, false);
    } catch (SVGGraphics2DIOException e) {
      throw new UncheckedIOException("the chart '" + title + "' cannot be written", new IOException(e));
    }
    // A page has its own document type; the one id that the generator above does not make must differ, too.
    String svg = text.toString();
    return svg.substring(svg.indexOf("<svg")).replace("\"genericDefs\"", '"' + id + "-generic\"");
  }

  private static SVGGeneratorContext context(String id) {
    SVGGeneratorContext context = SVGGeneratorContext.createDefault(document());
    context.setComment(null);
    context.setExtensionHandler(new DefaultExtensionHandler());
    context.setIDGenerator(new SVGIDGenerator() {
      @Override
      public String generateID(String prefix) {
        return id + "-" + super.generateID(prefix);
      }
    });
    return context;
  }

  private static Document document() {
    try {
      return DocumentBuilderFactory.newInstance().newDocumentBuilder().getDOMImplementation()
          .createDocument(NAMESPACE, "svg", null);
    } catch (ParserConfigurationException e) {
      throw new IllegalStateException("this Java has no XML parser", e);
    }
  }
}
