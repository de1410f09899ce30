package io.sluice.spark.ui;

import io.sluice.spark.events.ShuffleRegistered;
import io.sluice.spark.metrics.Counter;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.function.UnaryOperator;

/** A table of the shuffles: sorted, searched and in pages as the address says. */
final class ShufflesContent implements PageContent {
  private final StatusStore store;

  ShufflesContent(StatusStore store) {
    this.store = store;
  }

  @Override
  public String path() {
    return "shuffles";
  }

  @Override
  public String title() {
    return "Shuffles";
  }

  @Override
  public String html(UnaryOperator<String> parameters) {
    TableRequest request = TableRequest.of(parameters, "id");
    List<ShuffleRow> found = new ArrayList<>();
    for (ShuffleRow row : store.shuffles()) {
      if (request.search().isEmpty() || words(row).contains(request.search().toLowerCase(Locale.ROOT))) {
        found.add(row);
      }
    }
    Comparator<ShuffleRow> order = ShuffleColumn.of(request.sort()).order()
        .thenComparing(Comparator.comparingInt(ShuffleRow::shuffleId));
    found.sort(request.descending() ? order.reversed() : order);
    Html html = new Html();
    request.searchForm(html, "id, path, reason or stage");
    if (found.isEmpty()) {
      return html.raw("<p>No shuffle").raw(request.search().isEmpty() ? " yet." : " has these words.").raw("</p>")
          .toString();
    }
    TableRequest shown = request.within(found.size());
    shown.pages(html, found.size(), "shuffle");
    table(html, shown, shown.page(found));
    return html.toString();
  }

  private static String words(ShuffleRow row) {
    return (row.shuffleId() + " " + pathOf(row) + " " + row.reasonText() + " " + row.stages()).toLowerCase(Locale.ROOT);
  }

  private void table(Html html, TableRequest request, List<ShuffleRow> rows) {
    // Without stripes: on grey, the colours of Spark's links have too little contrast.
    html.raw("<div class=\"table-responsive\"><table class=\"table table-bordered table-sm\"><thead><tr>");
    for (ShuffleColumn column : ShuffleColumn.values()) {
      request.header(html, column.key(), column.title(), column.tooltip());
    }
    html.raw("</tr></thead><tbody>");
    for (ShuffleRow row : rows) {
      html.raw("<tr id=\"shuffle-").text(row.shuffleId()).raw("\">");
      for (ShuffleColumn column : ShuffleColumn.values()) {
        cell(html, column, row);
      }
      html.raw("</tr>");
    }
    html.raw("</tbody></table></div>");
    Drawing.encodingKeys(html);
  }

  /** The table without links, for a page of its own. */
  static void plainTable(Html html, List<ShuffleRow> rows) {
    html.raw("<div class=\"table-responsive\"><table><thead><tr>");
    for (ShuffleColumn column : ShuffleColumn.values()) {
      html.raw("<th scope=\"col\" title=\"").text(column.tooltip()).raw("\">").text(column.title()).raw("</th>");
    }
    html.raw("</tr></thead><tbody>");
    for (ShuffleRow row : rows) {
      html.raw("<tr>");
      for (ShuffleColumn column : ShuffleColumn.values()) {
        switch (column) {
          case STAGES -> html.cell(String.join(" ", row.stages()));
          case EXECUTION -> html.number(row.sqlExecution() < 0 ? "" : Long.toString(row.sqlExecution()));
          case PATH -> html.cell(pathOf(row));
          case ENCODINGS -> encodings(html, row);
          default -> html.number(column.text(row));
        }
      }
      html.raw("</tr>");
    }
    html.raw("</tbody></table></div>");
    Drawing.encodingKeys(html);
  }

  private void cell(Html html, ShuffleColumn column, ShuffleRow row) {
    switch (column) {
      case ID -> html.raw("<td class=\"text-end text-right\"><a title=\"Its tasks over time, and its columns\" href=\"")
          .raw("../timeline/?id=").text(row.shuffleId()).raw("\">").text(row.shuffleId()).raw("</a></td>");
      case ENCODINGS -> encodings(html, row);
      case STAGES -> stages(html, row);
      case EXECUTION -> execution(html, row);
      case PATH -> html.cell(pathOf(row));
      default -> html.number(column.text(row));
    }
  }

  private static void encodings(Html html, ShuffleRow row) {
    html.raw("<td>");
    Drawing.columns(html, row);
    html.raw("</td>");
  }

  private void stages(Html html, ShuffleRow row) {
    html.raw("<td>");
    for (String stage : row.stages()) {
      int dot = stage.indexOf('.');
      String id = stage.substring(0, Math.max(0, dot));
      String attempt = stage.substring(dot + 1);
      html.raw("<a href=\"").raw(Navigation.root(this)).raw("stages/stage/?id=").text(Html.inUrl(id))
          .raw("&amp;attempt=")
          .text(Html.inUrl(attempt)).raw("\">").text(attempt.equals("0") ? id : stage).raw("</a> ");
    }
    html.raw("</td>");
  }

  private void execution(Html html, ShuffleRow row) {
    html.raw("<td>");
    if (row.sqlExecution() != ShuffleRegistered.NO_EXECUTION) {
      html.raw("<a href=\"").raw(Navigation.root(this)).raw("SQL/execution/?id=").text(row.sqlExecution()).raw("\">")
          .text(row.sqlExecution()).raw("</a>");
    }
    html.raw("</td>");
  }

  /** Who writes and reads the shuffle, and why. */
  static String pathOf(ShuffleRow row) {
    switch (row.path()) {
      case ShuffleRegistered.SQL_ROWS :
        return "Sluice, rows of SQL";
      case ShuffleRegistered.RDD_RECORDS :
        return "Sluice, records of an RDD";
      case ShuffleRegistered.SPARK :
        return "Spark's sort shuffle, because " + row.reasonText();
      case ShuffleRegistered.SPARK_ONE_SIDED :
        return "Spark's format, read one-sidedly, because " + row.reasonText();
      default :
        return row.path().equals(ShuffleRow.UNKNOWN) ? "not known" : row.path();
    }
  }

  /** The encoded bytes that tasks of Sluice's shuffles read, by any way. */
  static long readBytes(ShuffleRow row) {
    return row.of(Counter.READ_LOCAL_BYTES) + row.of(Counter.READ_REMOTE_BYTES);
  }
}
