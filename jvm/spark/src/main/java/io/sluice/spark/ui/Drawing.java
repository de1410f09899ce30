package io.sluice.spark.ui;

import io.sluice.spark.metrics.ColumnBytes;
import io.sluice.spark.metrics.LatencyCounts;
import java.util.Locale;

/**
 * Small pictures within pages, as SVG that the server makes: no script, nothing loaded. Their colours are readable on
 * white and on black; what is text or axis has the page's own colour.
 */
final class Drawing {
  /** Of {@link ColumnBytes.Encoding}, in its order. */
  private static final String[] ENCODING_COLOURS =
      {"#17a589", "#2e86c1", "#5dade2", "#45b39d", "#8e6bbf", "#d68910", "#cb4335", "#a0785a"};
  private static final double BAR_WIDTH = 140;
  /** In a table that has many other columns. */
  private static final double NARROW_BAR_WIDTH = 64;
  private static final int BAR_HEIGHT = 12;
  private static final int HISTOGRAM_HEIGHT = 22;
  private static final int BUCKET_WIDTH = 7;

  private Drawing() {}

  static String colour(ColumnBytes.Encoding encoding) {
    return ENCODING_COLOURS[encoding.ordinal()];
  }

  /** A number of pixels. */
  static String px(double pixels) {
    return String.format(Locale.ROOT, "%.1f", pixels);
  }

  /** A square of a colour and what it stands for. */
  static void key(Html html, String colour, String text) {
    html.raw("<span class=\"me-3 mr-3 text-nowrap\"><svg width=\"10\" height=\"10\" aria-hidden=\"true\">")
        .raw("<rect width=\"10\" height=\"10\" fill=\"").raw(colour).raw("\"/></svg> ").text(text).raw("</span> ");
  }

  static void encodingKeys(Html html) {
    html.raw("<p>");
    for (ColumnBytes.Encoding encoding : ColumnBytes.Encoding.values()) {
      key(html, colour(encoding), encoding.label());
    }
    html.raw("</p>");
  }

  /** A bar of a column's encodings; {@code whole} bytes are as long as a bar can be. */
  static void encodings(Html html, ColumnBytes column, long whole) {
    html.raw("<svg role=\"img\" width=\"").raw(px(BAR_WIDTH)).raw("\" height=\"").text(BAR_HEIGHT).raw("\"><title>")
        .text(describe(column)).raw("</title>");
    parts(html, column, 0, BAR_WIDTH / Math.max(1, whole));
    html.raw("</svg>");
  }

  /** Adds a part for each encoding: where they end. */
  static double parts(Html html, ColumnBytes column, double from, double pixelsPerByte) {
    double x = from;
    for (ColumnBytes.Encoding encoding : ColumnBytes.Encoding.values()) {
      double width = column.encoded(encoding) * pixelsPerByte;
      if (width > 0) {
        html.raw("<rect x=\"").raw(px(x)).raw("\" width=\"").raw(px(width)).raw("\" height=\"").text(BAR_HEIGHT)
            .raw("\" fill=\"").raw(colour(encoding)).raw("\"/>");
      }
      x += width;
    }
    return x;
  }

  /** The encodings of all columns of a shuffle, one after the other; nothing if they are not known. */
  static void columns(Html html, ShuffleRow row) {
    long whole = row.columns().stream().mapToLong(ColumnBytes::encodedBytes).sum();
    if (whole == 0) {
      return;
    }
    html.raw("<svg role=\"img\" aria-label=\"encodings by column\" width=\"")
        .raw(px(NARROW_BAR_WIDTH)).raw("\" height=\"").text(BAR_HEIGHT).raw("\">");
    double x = 0;
    for (ColumnBytes column : row.columns()) {
      html.raw("<g><title>").text(describe(column)).raw("</title>");
      x = parts(html, column, x, NARROW_BAR_WIDTH / whole);
      html.raw("<path d=\"M").raw(px(x)).raw(" 0v").text(BAR_HEIGHT).raw("\" stroke=\"currentColor\"/></g>");
    }
    html.raw("</svg>");
  }

  /** The name of a column, for people. */
  static String name(ColumnBytes column) {
    return column.field() == ColumnBytes.REST ? "the rest" : "field " + (column.field() + 1);
  }

  private static String describe(ColumnBytes column) {
    StringBuilder text = new StringBuilder(name(column)).append(": ").append(Amounts.bytes(column.encodedBytes()))
        .append(" of ").append(Amounts.bytes(column.rowBytes())).append(" of rows");
    for (ColumnBytes.Encoding encoding : ColumnBytes.Encoding.values()) {
      if (column.encoded(encoding) > 0) {
        text.append("; ").append(encoding.label()).append(' ')
            .append(Amounts.percent(column.encoded(encoding), column.encodedBytes()));
      }
    }
    return text.toString();
  }

  /** A small histogram: a bar for each bucket, from the fastest to the slowest. */
  static void latencies(Html html, LatencyCounts counts) {
    long most = 1;
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < LatencyCounts.BUCKETS; i++) {
      most = Math.max(most, counts.count(i));
      if (counts.count(i) > 0) {
        text.append(text.length() == 0 ? "" : ", ").append(LatencyCounts.label(i)).append(": ")
            .append(Amounts.count(counts.count(i)));
      }
    }
    html.raw("<svg role=\"img\" width=\"").text((long) BUCKET_WIDTH * LatencyCounts.BUCKETS).raw("\" height=\"")
        .text(HISTOGRAM_HEIGHT).raw("\"><title>").text(text.toString()).raw("</title><path fill=\"#2e86c1\" d=\"");
    for (int i = 0; i < LatencyCounts.BUCKETS; i++) {
      if (counts.count(i) > 0) {
        double height = Math.max(1, (double) (HISTOGRAM_HEIGHT - 2) * counts.count(i) / most);
        html.raw("M").text((long) BUCKET_WIDTH * i).raw(" ").raw(px(HISTOGRAM_HEIGHT - 1 - height)).raw("h")
            .text(BUCKET_WIDTH - 1).raw("v").raw(px(height)).raw("h-").text(BUCKET_WIDTH - 1).raw("z");
      }
    }
    html.raw("\"/><path stroke=\"currentColor\" stroke-opacity=\"0.5\" d=\"M0 ").raw(px(HISTOGRAM_HEIGHT - 0.5))
        .raw("h").text((long) BUCKET_WIDTH * LatencyCounts.BUCKETS).raw("\"/></svg>");
  }

  /** A bar of a length in proportion. */
  static void bar(Html html, long amount, long whole) {
    html.raw("<svg aria-hidden=\"true\" width=\"").raw(px(BAR_WIDTH)).raw("\" height=\"").text(BAR_HEIGHT)
        .raw("\"><rect height=\"").text(BAR_HEIGHT).raw("\" fill=\"#2e86c1\" width=\"")
        .raw(px(BAR_WIDTH * amount / Math.max(1, whole))).raw("\"/></svg>");
  }
}
