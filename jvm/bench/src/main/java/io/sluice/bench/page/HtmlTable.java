package io.sluice.bench.page;

import java.util.List;

/** A table that scrolls sideways where the page is too narrow for it: names to the left, figures to the right. */
final class HtmlTable {

  private final List<String> header;
  private final List<String> classes;
  private final StringBuilder rows = new StringBuilder();

  /**
   * A table with {@code header}.
   *
   * @param classes a style class per column: {@code name}, {@code long} or nothing for a figure
   */
  HtmlTable(List<String> header, List<String> classes) {
    this.header = header;
    this.classes = classes;
  }

  /** Adds a row of plain text; {@code group} sets it off from the row above. */
  HtmlTable row(boolean group, List<String> cells) {
    rows.append(group ? "<tr class=\"group\">" : "<tr>");
    for (int i = 0; i < cells.size(); i++) {
      rows.append(cell("td", i, cells.get(i)));
    }
    rows.append("</tr>\n");
    return this;
  }

  String render() {
    StringBuilder head = new StringBuilder();
    for (int i = 0; i < header.size(); i++) {
      head.append(cell("th", i, header.get(i)));
    }
    return "<div class=\"scroll\"><table>\n<thead><tr>" + head + "</tr></thead>\n<tbody>\n" + rows
        + "</tbody></table></div>\n";
  }

  private String cell(String tag, int column, String text) {
    String name = classes.get(column);
    String attribute = name.isEmpty() ? "" : " class=\"" + name + "\"";
    return "<" + tag + attribute + ">" + escaped(text) + "</" + tag + ">";
  }

  /** {@code text} as HTML shows it. */
  static String escaped(String text) {
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\"", "&quot;");
  }
}
