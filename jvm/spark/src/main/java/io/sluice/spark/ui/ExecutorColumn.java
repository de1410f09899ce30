package io.sluice.spark.ui;

import java.util.Comparator;
import java.util.function.Function;
import java.util.function.ToLongFunction;

/** A column of the table of executors, by which it can be sorted. */
enum ExecutorColumn {
  EXECUTOR("executor", "Executor", "Spark's id of the executor", Comparator.comparingLong(ExecutorColumn::number)),
  HOST("host", "Host", "Where it runs, or ran", text(ExecutorRow::host)),
  LIBRARY("library", "Reads and writes",
      "With the native library or in Java, and what the library said when it was loaded",
      Comparator.comparing(ExecutorRow::nativeCore).thenComparing(text(ExecutorRow::detail))),
  USED("used", "Block memory", "What tasks hold now, of the limit", figure(ExecutorsContent.USED)),
  PEAK("peak", "Peak", "The most that tasks held together", figure(ExecutorsContent.PEAK)),
  LEASED("leased", "Leased",
      "Native memory on lease (the arena), blocks received one-sidedly included; and the most at "
          + "once, without those",
      figure("memory.arenaLeasedBytes")),
  WAITS("waits", "Waits", "Times that tasks waited for memory, and how long together", figure("memory.waitNanos")),
  CACHED("cached", "In memory", "Map outputs in memory now", figure(ExecutorsContent.CACHED)),
  MOVED("moved", "Moved", "Map outputs moved from memory to the disk, and their bytes; those that came back",
      figure("cache.movedBytes")),
  MAPPED("mapped", "Mapped", "Bytes of map outputs that are mapped for other executors to read; and the most at once",
      figure("transport.mappedBytes")),
  PINNED("pinned", "Pinned", "Of these, bytes that another executor may be reading; and the most in any report",
      order(ExecutorRow::mostPinnedBytes)),
  ONE_SIDED("oneSided", "Read one-sidedly", "Bytes of blocks; of these, by system calls within the machine",
      figure("transport.bytes")),
  PEERS("peers", "Peers",
      "Executors that it may read one-sidedly, those that it is connected with, and those that failed "
          + "and are read by Spark's block transfer for a while; and how often one could not be read",
      figure("transport.peerFailures")),
  FETCHED("fetched", "Fetched blocks",
      "How long they took, from ≤ 0.1 ms at the left to > 10 s at the right; and within "
          + "how long 95 % of them came",
      order(row -> row.fetches().blocks() == 0 ? 0 : row.fetches().percentile(FetchTimes.SLOW)));

  private final String key;
  private final String title;
  private final String tooltip;
  private final Comparator<ExecutorRow> order;

  ExecutorColumn(String key, String title, String tooltip, Comparator<ExecutorRow> order) {
    this.key = key;
    this.title = title;
    this.tooltip = tooltip;
    this.order = order;
  }

  /** The column of an address's parameter; the first one if there is none of this name. */
  static ExecutorColumn of(String key) {
    for (ExecutorColumn column : values()) {
      if (column.key.equals(key)) {
        return column;
      }
    }
    return EXECUTOR;
  }

  /** Logs of other versions may lack it. */
  private static Comparator<ExecutorRow> text(Function<ExecutorRow, String> of) {
    return Comparator.comparing(of, Comparator.nullsFirst(Comparator.naturalOrder()));
  }

  private static Comparator<ExecutorRow> order(ToLongFunction<ExecutorRow> number) {
    return Comparator.comparingLong(number);
  }

  private static Comparator<ExecutorRow> figure(String id) {
    return order(row -> row.figure(id));
  }

  /** The driver, of local mode, comes first. */
  private static long number(ExecutorRow row) {
    try {
      return Long.parseLong(row.executorId());
    } catch (NumberFormatException e) {
      return -1;
    }
  }

  String key() {
    return key;
  }

  String title() {
    return title;
  }

  String tooltip() {
    return tooltip;
  }

  Comparator<ExecutorRow> order() {
    return order;
  }
}
