package io.sluice.bench.report;

import io.sluice.bench.protocol.ProcessCosts;
import io.sluice.bench.run.Engine;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/** The results as the table that {@code ./sluice bench} prints. */
public final class BenchTableText {

  private static final double MIB = 1024.0 * 1024;

  private BenchTableText() {}

  /** One line per result, in their order. */
  public static String render(List<BenchResult> results) {
    TextTable table = new TextTable(2, "workload", "engine", "median s", "min..max", "ratio", "floor", "written MiB",
        "read MiB", "spilled MiB", "process cpu s", "task cpu s", "gc s", "fallbacks");
    for (BenchResult result : results) {
      Statistics seconds = Statistics.of(result.runsS(), Double::doubleValue);
      table.row(result.workload(), result.engine(), figure(result.medianS()),
          figure(seconds.min()) + ".." + figure(seconds.max()),
          result.ratioVsStock() == null ? "-" : figure(result.ratioVsStock()), floor(result),
          mebibytes(result.shuffleWriteBytes()), mebibytes(result.shuffleReadBytes()), mebibytes(result.spilledBytes()),
          figure(result.processCpuS()), figure(result.cpuS()), figure(result.gcS()),
          Long.toString(result.sluiceFallbacks()));
    }
    String starts = results.stream().filter(result -> result.startS() != null)
        .map(result -> String.format(Locale.ROOT, "%n%s: Spark on %s was up after %.2f s, which is not in its median.",
            result.workload(), result.engine(), result.startS()))
        .collect(Collectors.joining());
    return table.render() + processes(results) + (starts.isEmpty() ? "" : "\n" + starts);
  }

  /** What driver, executors and servers took together; only where an engine of another project is in it. */
  private static String processes(List<BenchResult> results) {
    if (results.stream().noneMatch(result -> Engine.isPeers(result.engine()) && result.processes() != null)) {
      return "";
    }
    TextTable table = new TextTable(2, "all processes", "engine", "cpu s", "of it servers", "peak memory MiB",
        "written to disks MiB", "over loopback MiB");
    results.stream().filter(result -> result.processes() != null).forEach(result -> {
      ProcessCosts all = result.processes();
      table.row(result.workload(), result.engine(), figure(all.cpuS()), figure(all.serversCpuS()),
          mebibytes(all.peakRssBytes()), mebibytes(all.writtenBytes()),
          all.loopbackBytes() == null ? "-" : mebibytes(all.loopbackBytes()));
    });
    return "\n\n" + table.render();
  }

  private static String floor(BenchResult result) {
    return result.floor() == 0 ? "-" : figure(result.floor()) + (result.belowFloor() ? " BELOW" : "");
  }

  private static String figure(double value) {
    return String.format(Locale.ROOT, "%.2f", value);
  }

  private static String mebibytes(long bytes) {
    return String.format(Locale.ROOT, "%.1f", bytes / MIB);
  }
}
