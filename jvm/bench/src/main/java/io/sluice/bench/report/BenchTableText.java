package io.sluice.bench.report;

import java.util.List;
import java.util.Locale;

/** The results as the table that {@code ./sluice bench} prints. */
public final class BenchTableText {

  private static final double MIB = 1024.0 * 1024;

  private BenchTableText() {}

  /** One line per result, in their order. */
  public static String render(List<BenchResult> results) {
    TextTable table = new TextTable(2, "workload", "engine", "median s", "min..max", "ratio", "written MiB", "read MiB",
        "spilled MiB", "task cpu s", "process cpu s", "gc s", "fallbacks");
    for (BenchResult result : results) {
      Statistics seconds = Statistics.of(result.runsS(), Double::doubleValue);
      table.row(result.workload(), result.engine(), figure(result.medianS()),
          figure(seconds.min()) + ".." + figure(seconds.max()),
          result.ratioVsStock() == null ? "-" : figure(result.ratioVsStock()),
          mebibytes(result.shuffleWriteBytes()), mebibytes(result.shuffleReadBytes()), mebibytes(result.spilledBytes()),
          figure(result.cpuS()), figure(result.processCpuS()), figure(result.gcS()),
          Long.toString(result.sluiceFallbacks()));
    }
    return table.render();
  }

  private static String figure(double value) {
    return String.format(Locale.ROOT, "%.2f", value);
  }

  private static String mebibytes(long bytes) {
    return String.format(Locale.ROOT, "%.1f", bytes / MIB);
  }
}
