package io.sluice.spark.ui;

import io.sluice.spark.events.ShuffleRegistered;
import io.sluice.spark.metrics.Counter;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;

/** The application as a whole: what Sluice did, what that saved, which shuffles are not its own, the settings. */
final class OverviewContent implements PageContent {
  private static final String TABLE = "<table class=\"table table-bordered table-sm table-striped w-auto\"><tbody>";
  private static final String END = "</tbody></table>";
  private static final int MOST_VERSIONS = 5;

  private final StatusStore store;

  OverviewContent(StatusStore store) {
    this.store = store;
  }

  @Override
  public String path() {
    return "";
  }

  @Override
  public String title() {
    return "Overview";
  }

  @Override
  public String html(UnaryOperator<String> parameters) {
    ApplicationRow application = store.application();
    Html html = new Html();
    shuffles(html, application);
    saving(html, application);
    List<ExecutorRow> executors = store.executors();
    work(html, application, executors);
    memory(html, executors);
    settings(html, application.settings());
    return html.toString();
  }

  private static void shuffles(Html html, ApplicationRow application) {
    html.raw("<h4>Shuffles</h4>").raw(TABLE)
        .pair("Sluice, rows of SQL", Amounts.count(application.shuffles(ShuffleRegistered.SQL_ROWS)))
        .pair("Sluice, records of RDDs", Amounts.count(application.shuffles(ShuffleRegistered.RDD_RECORDS)))
        .pair("Spark's format, read one-sidedly",
            Amounts.count(application.shuffles(ShuffleRegistered.SPARK_ONE_SIDED)))
        .pair("Spark's sort shuffle", Amounts.count(application.shuffles(ShuffleRegistered.SPARK)));
    application.shufflesByReason()
        .forEach((reason, count) -> html.pair("… because " + reason, Amounts.count(count)));
    html.raw(END);
  }

  private static void saving(Html html, ApplicationRow application) {
    long ours = application.total(ApplicationRow.ESTIMATED_BLOCK_BYTES);
    long stock = application.total(Counter.WRITE_STOCK_BYTES);
    html.raw("<h4>What it saved</h4><p>");
    if (stock == 0) {
      html.raw(application.shuffles(ShuffleRegistered.SQL_ROWS) == 0
          ? "No estimate: it is made for rows of SQL in Sluice's format, and there is no such shuffle."
          : "No estimate yet: it is made for shuffles of SQL rows, when their map tasks have ended.");
    } else if (ours < stock) {
      html.text("Shuffles of SQL rows wrote " + Amounts.bytes(ours) + "; in Spark's format it would have been about "
          + Amounts.bytes(stock) + ", so " + Amounts.bytes(stock - ours) + " (" + Amounts.percent(stock - ours, stock)
          + ") less was written.");
    } else {
      html.text("Shuffles of SQL rows wrote " + Amounts.bytes(ours) + ", no less than Spark's format would have been: "
          + "about " + Amounts.bytes(stock) + ".");
    }
    fetchSaving(html, application, ours, stock);
    html.raw("</p><p class=\"text-muted\">Spark's size is an estimate: map tasks compress samples of their rows with ")
        .raw("Spark's codec. Records of RDDs are not in it, nor is time, which 'java -jar sluice.jar advise' ")
        .raw("estimates.</p>");
  }

  /**
   * Blocks that travelled are taken to be as much smaller as those that were written; not said where some of them are
   * in Spark's format.
   */
  private static void fetchSaving(Html html, ApplicationRow application, long ours, long stock) {
    long remote = application.total(Counter.READ_REMOTE_BYTES);
    boolean allOurs = application.shuffles(ShuffleRegistered.SPARK_ONE_SIDED) == 0;
    if (allOurs && remote > 0 && ours > 0 && ours < stock) {
      long saved = (long) ((double) remote * (stock - ours) / ours);
      html.text(
          " Executors fetched " + Amounts.bytes(remote) + " from each other; if these blocks are as much smaller as "
              + "all are, about " + Amounts.bytes(saved) + " less than in Spark's format.");
    }
  }

  private static void work(Html html, ApplicationRow application, List<ExecutorRow> executors) {
    long blocks = application.total(Counter.WRITE_BLOCK_BYTES);
    long rows = application.total(Counter.WRITE_ROW_BYTES);
    html.raw("<h4>What it did</h4>").raw(TABLE)
        .pair("Rows written", Amounts.count(application.total(Counter.WRITE_RECORDS)))
        .pair("Their bytes", Amounts.bytes(rows))
        .pair("… as blocks", Amounts.bytes(blocks) + " (" + Amounts.percent(blocks, rows) + ")")
        .pair("… of these kept in memory", inMemory(executors))
        .pair("Spilled before that", Amounts.bytes(application.total(Counter.WRITE_SPILLED_BYTES)))
        .pair("Encoding, writing", Amounts.nanos(application.total(Counter.WRITE_ENCODE_NANOS)) + ", "
            + Amounts.nanos(application.total(Counter.WRITE_COMMIT_NANOS)))
        .pair(application.shuffles(ShuffleRegistered.SPARK_ONE_SIDED) == 0 ? "Rows read"
            : "Rows read, those of Spark's format included", Amounts.count(application.total(Counter.READ_RECORDS)))
        .pair("Blocks read from this host's files", Amounts.bytes(application.total(Counter.READ_LOCAL_BYTES)))
        .pair("… by Spark's block transfer", Amounts.bytes(application.total(Counter.READ_REMOTE_BYTES)
            - application.total(Counter.READ_ONE_SIDED_BYTES)))
        .pair("… one-sidedly", oneSidedly(application, executors))
        .pair("Waiting for blocks, decoding", Amounts.nanos(application.total(Counter.READ_FETCH_WAIT_NANOS)) + ", "
            + Amounts.nanos(application.total(Counter.READ_DECODE_NANOS)))
        .pair("Written by Spark's sort shuffle", Amounts.bytes(application.total(ApplicationRow.SPARK_BLOCK_BYTES)))
        .raw(END)
        .raw("<p class=\"text-muted\">Sums over the successful tasks of completed stages; what is in memory, and ")
        .raw("read within a machine, is what executors had reported.</p>");
  }

  /** Map outputs; what is not in memory was written to the disk. */
  private static String inMemory(List<ExecutorRow> executors) {
    long kept = sum(executors, "cache.bytes");
    long moved = sum(executors, "cache.movedBytes");
    return kept == 0 ? "nothing; all were written to disks"
        : Amounts.bytes(kept) + (moved == 0 ? "" : ", " + Amounts.bytes(moved) + " of it moved to disks later");
  }

  private static String oneSidedly(ApplicationRow application, List<ExecutorRow> executors) {
    long within = sum(executors, "transport.cmaBytes");
    return Amounts.bytes(application.total(Counter.READ_ONE_SIDED_BYTES))
        + (within == 0 ? "" : ", " + Amounts.bytes(within) + " of it within a machine, by system calls");
  }

  private static long sum(List<ExecutorRow> executors, String figure) {
    return executors.stream().mapToLong(row -> row.figure(figure)).sum();
  }

  private static void memory(Html html, List<ExecutorRow> executors) {
    long used = 0;
    long peak = 0;
    long peakArena = 0;
    long limit = 0;
    long cached = 0;
    for (ExecutorRow executor : executors) {
      used += executor.removed() ? 0 : executor.figure(ExecutorsContent.USED);
      cached += executor.removed() ? 0 : executor.figure(ExecutorsContent.CACHED);
      peak = Math.max(peak, executor.figure(ExecutorsContent.PEAK));
      peakArena = Math.max(peakArena, executor.figure("memory.arenaPeakBytes"));
      limit += executor.removed() ? 0 : executor.figure("memory.limitBytes");
    }
    html.raw("<h4>Memory</h4>").raw(TABLE)
        .pair("Executors that took part", Amounts.count(executors.size()) + versions(executors))
        .pair("Block memory now, all together", Amounts.bytes(used)
            + (limit == 0 ? "" : " of " + Amounts.bytes(limit) + " (" + Amounts.percent(used, limit) + ")"))
        .pair("Block memory of one executor at most (high-water mark)", Amounts.bytes(peak))
        .pair("Native memory of one executor at most", Amounts.bytes(peakArena))
        .pair("Map outputs in memory now", Amounts.bytes(cached)).raw(END);
  }

  /** Their Java and their native library, by number: an executor with other classes of Sluice is refused. */
  private static String versions(List<ExecutorRow> executors) {
    Map<String, Long> byVersion = executors.stream().filter(row -> row.javaVersion() != null)
        .collect(Collectors.groupingBy(row -> "Java " + row.javaVersion()
            + (row.nativeCore() ? ", " + row.detail() : ", no native library"), TreeMap::new, Collectors.counting()));
    if (byVersion.size() == 1) {
      return ", with " + byVersion.keySet().iterator().next();
    }
    return byVersion.isEmpty() ? "" : byVersion.entrySet().stream().limit(MOST_VERSIONS)
        .map(each -> Amounts.count(each.getValue()) + " with " + each.getKey())
        .collect(Collectors.joining("; ", ": ", byVersion.size() > MOST_VERSIONS ? "; …" : ""));
  }

  private static void settings(Html html, Map<String, String> settings) {
    html.raw("<h4>Settings</h4>");
    if (settings.isEmpty()) {
      html.raw("<p>The application has not told them: it runs without spark.plugins=io.sluice.spark.SluicePlugin.</p>");
      return;
    }
    html.raw(TABLE);
    settings.forEach(html::pair);
    html.raw(END);
  }
}
