package io.sluice.spark.ui;

import io.sluice.spark.metrics.Counter;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.UnaryOperator;

/** A table of the executors that took part in shuffles: what they can do, their memory, their one-sided reads. */
final class ExecutorsContent implements PageContent {
  static final String USED = "memory.usedBytes";
  static final String PEAK = "memory.peakBytes";
  static final String CACHED = "cache.usedBytes";
  private static final int MOST_ROWS = 1_000;

  private static final String[][] HEADS = {
    {"Executor", "Spark's id of the executor"},
    {"Host", "Where it runs, or ran"},
    {"Reads and writes", "With the native library or in Java, and what the library said when it was loaded"},
    {"Block memory", "What tasks hold now, of the limit"},
    {"Peak", "The most that tasks held together"},
    {"Leased",
      "Native memory on lease (the arena), blocks received one-sidedly included; and the most at once, without "
          + "those"},
    {"Waits", "Times that tasks waited for memory, and how long together"},
    {"In memory", "Map outputs in memory now"},
    {"Moved", "Map outputs moved from memory to the disk, and their bytes; those that came back"},
    {"Mapped", "Bytes of map outputs that are mapped for other executors to read; and the most at once"},
    {"Pinned", "Of these, bytes that another executor may be reading; and the most in any report"},
    {"Read one-sidedly", "Bytes of blocks; of these, by system calls within the machine"},
    {"Peers", "Executors that it may read one-sidedly, those that it is connected with, and those that failed and are "
        + "read by Spark's block transfer for a while; and how often one could not be read"},
    {"Fetched blocks", "How long they took, from ≤ 0.1 ms at the left to > 10 s at the right; and within how long 95 % "
        + "of them came"}};

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
    List<ExecutorRow> executors = new ArrayList<>(store.executors());
    Html html = new Html();
    if (executors.isEmpty()) {
      return html
          .raw("<p>No executor has ended a task of a shuffle of Sluice, or of one that is read one-sidedly, yet.")
          .raw("</p>").toString();
    }
    executors.sort(Comparator.comparingLong((ExecutorRow row) -> number(row.executorId()))
        .thenComparing(ExecutorRow::executorId));
    html.raw("<p>").text(Amounts.count(executors.size())).text(executors.size() == 1 ? " executor" : " executors")
        .text(executors.size() > MOST_ROWS ? "; the first " + Amounts.count(MOST_ROWS) + " are shown" : "")
        .raw(
            ". The amounts are those at the end of a task; the end of a stage brings them, at most once a minute.</p>");
    html.raw(
        "<div class=\"table-responsive\"><table class=\"table table-bordered table-sm table-striped\"><thead><tr>");
    for (String[] head : HEADS) {
      html.raw("<th scope=\"col\"><span title=\"").text(head[1]).raw("\">").text(head[0]).raw("</span></th>");
    }
    html.raw("</tr></thead><tbody>");
    executors.subList(0, Math.min(MOST_ROWS, executors.size())).forEach(row -> row(html, row));
    html.raw("</tbody></table></div>");
    new FetchTimesSection(html).add(executors);
    return html.toString();
  }

  private static void row(Html html, ExecutorRow row) {
    html.raw("<tr>").cell(row.executorId() + (row.removed() ? " (removed)" : "")).cell(row.host())
        .cell((row.nativeCore() ? "natively: " : "in Java: ") + row.detail()
            + (row.javaVersion() == null ? "" : "; Java " + row.javaVersion()))
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

  /** Executors in the order of their numbers; the driver, of local mode, comes first. */
  private static long number(String executorId) {
    try {
      return Long.parseLong(executorId);
    } catch (NumberFormatException e) {
      return -1;
    }
  }
}
