package io.sluice.spark.ui;

import io.sluice.spark.metrics.Counter;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.function.UnaryOperator;

/** A table of the executors that took part in shuffles: what they can do, their memory, their one-sided reads. */
final class ExecutorsContent implements PageContent {
  static final String USED = "memory.usedBytes";
  static final String PEAK = "memory.peakBytes";
  static final String CACHED = "cache.usedBytes";
  /** Of a report of event logs. */
  private static final int MOST_ROWS = 500;
  private static final String OF_REPORTS =
      "The amounts are those at the end of a task; the end of a stage brings them, at most once a minute.";

  private final StatusStore store;

  ExecutorsContent(StatusStore store) {
    this.store = store;
  }

  @Override
  public String path() {
    return "executors";
  }

  @Override
  public String title() {
    return "Executors";
  }

  @Override
  public String html(UnaryOperator<String> parameters) {
    TableRequest request = TableRequest.of(parameters, ExecutorColumn.EXECUTOR.key());
    Html html = new Html();
    List<ExecutorRow> all = store.executors();
    if (all.isEmpty()) {
      return none(html);
    }
    List<ExecutorRow> found = new ArrayList<>();
    for (ExecutorRow row : all) {
      if (request.search().isEmpty() || words(row).contains(request.search().toLowerCase(Locale.ROOT))) {
        found.add(row);
      }
    }
    Comparator<ExecutorRow> order = ExecutorColumn.of(request.sort()).order().thenComparing(ExecutorRow::executorId);
    found.sort(request.descending() ? order.reversed() : order);
    html.raw("<p>").raw(OF_REPORTS).raw("</p>");
    request.searchForm(html, "executor, host or library");
    if (found.isEmpty()) {
      return html.raw("<p>No executor has these words.</p>").toString();
    }
    TableRequest shown = request.within(found.size());
    shown.pages(html, found.size(), "executor");
    beginTable(html);
    for (ExecutorColumn column : ExecutorColumn.values()) {
      shown.header(html, column.key(), column.title(), column.tooltip());
    }
    endTable(html, shown.page(found));
    new FetchTimesSection(html).add(found);
    return html.toString();
  }

  /** The table without links, for a page of its own. */
  String plainHtml() {
    List<ExecutorRow> all = new ArrayList<>(store.executors());
    Html html = new Html();
    if (all.isEmpty()) {
      return none(html);
    }
    all.sort(ExecutorColumn.EXECUTOR.order().thenComparing(ExecutorRow::executorId));
    html.raw("<p>").text(Amounts.count(all.size())).text(all.size() == 1 ? " executor" : " executors")
        .text(all.size() > MOST_ROWS ? "; the first " + Amounts.count(MOST_ROWS) + " are shown" : "").raw(". ")
        .raw(OF_REPORTS).raw("</p>");
    beginTable(html);
    for (ExecutorColumn column : ExecutorColumn.values()) {
      html.raw("<th scope=\"col\"><span title=\"").text(column.tooltip()).raw("\">").text(column.title())
          .raw("</span></th>");
    }
    endTable(html, all.subList(0, Math.min(MOST_ROWS, all.size())));
    new FetchTimesSection(html).add(all);
    return html.toString();
  }

  private static String none(Html html) {
    return html
        .raw("<p>No executor has ended a task of a shuffle of Sluice, or of one that is read one-sidedly, yet.</p>")
        .toString();
  }

  private static String words(ExecutorRow row) {
    return (row.executorId() + " " + row.host() + " " + library(row)).toLowerCase(Locale.ROOT);
  }

  private static void beginTable(Html html) {
    // Without stripes: on grey, the colours of Spark's links have too little contrast.
    html.raw("<div class=\"table-responsive\"><table class=\"table table-bordered table-sm\"><thead><tr>");
  }

  private static void endTable(Html html, List<ExecutorRow> rows) {
    html.raw("</tr></thead><tbody>");
    rows.forEach(row -> row(html, row));
    html.raw("</tbody></table></div>");
  }

  private static String library(ExecutorRow row) {
    return (row.nativeCore() ? "natively: " : "in Java: ") + row.detail()
        + (row.javaVersion() == null ? "" : "; Java " + row.javaVersion());
  }

  private static void row(Html html, ExecutorRow row) {
    html.raw("<tr>").cell(row.executorId() + (row.removed() ? " (removed)" : "")).cell(row.host())
        .cell(library(row))
        .number(of(Amounts.bytes(row.figure(USED)), row.figure("memory.limitBytes")))
        .number(bytes(row, PEAK))
        .number(pair(bytes(row, "memory.arenaLeasedBytes"), bytes(row, "memory.arenaPeakBytes")))
        .number(row.figure("memory.waits") == 0 ? "" : row.figure("memory.waits") + ", "
            + Amounts.nanos(row.figure("memory.waitNanos")))
        .number(bytes(row, CACHED))
        .number(pair(moved(row, Counter.CACHE_MOVES, "cache.movedBytes"),
            moved(row, Counter.CACHE_RETURNS, "cache.returnedBytes")))
        .number(pair(bytes(row, "transport.mappedBytes"), bytes(row, "transport.peakMappedBytes")))
        .number(pair(bytes(row, "transport.pinnedBytes"), row.mostPinnedBytes() == 0 ? ""
            : Amounts.bytes(row.mostPinnedBytes())))
        .number(pair(bytes(row, "transport.bytes"), bytes(row, "transport.cmaBytes")))
        .cell(peers(row)).raw("<td>");
    if (row.fetches().blocks() > 0) {
      Drawing.latencies(html, row.fetches());
      html.raw("<br/>").text(Amounts.nanos(row.fetches().percentile(FetchTimes.SLOW)));
    }
    html.raw("</td></tr>");
  }

  private static String moved(ExecutorRow row, Counter outputs, String bytes) {
    return row.of(outputs) == 0 ? "" : Amounts.count(row.of(outputs)) + ", " + bytes(row, bytes);
  }

  private static String peers(ExecutorRow row) {
    if (row.of(Counter.TRANSPORT_UNAVAILABLE) > 0) {
      return "none: it cannot read one-sidedly";
    }
    if (row.announcedPeers() == 0) {
      return "";
    }
    long failures = row.figure("transport.peerFailures");
    return row.announcedPeers() + " known, " + row.connectedPeers() + " connected"
        + (row.failedPeers() == 0 ? "" : ", " + row.failedPeers() + " failed: " + String.join(", ", row.failedPeerIds())
            + (row.failedPeerIds().size() < row.failedPeers() ? ", …" : ""))
        + (failures == 0 ? ""
            : "; " + Amounts.count(failures) + (failures == 1 ? " failure" : " failures") + " so far");
  }

  private static String of(String used, long limit) {
    return limit == 0 ? used : used + " of " + Amounts.bytes(limit);
  }

  private static String pair(String first, String second) {
    if (second.isEmpty()) {
      return first;
    }
    return (first.isEmpty() ? "0" : first) + " / " + second;
  }

  private static String bytes(ExecutorRow row, String id) {
    return row.figure(id) == 0 ? "" : Amounts.bytes(row.figure(id));
  }
}
