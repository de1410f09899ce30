package io.sluice.bench.report;

import io.sluice.bench.protocol.StageCosts;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** What {@code ./sluice bench --accounting} prints: nanoseconds a row that each kind of thread took, by stage. */
public final class AccountingText {

  /**
   * What applications need for it: the driver is asked for the figures, and encoding and decoding run on threads of
   * their own, where the operating system counts them.
   */
  public static final Map<String, String> SETTINGS = Map.of("spark.sluicebench.accounting", "true",
      "spark.sluice.writer.threads", "1", "spark.sluice.reader.threads", "1");

  private static final double NANOS = 1e9;

  private AccountingText() {}

  /** A table of the results that have such figures. */
  public static String render(List<BenchResult> results) {
    TextTable table = new TextTable(3, "workload", "engine", "stage", "rows", "task ns", "encoder", "decoder", "JIT",
        "GC", "other", "kernel", "all CPU", "waiting");
    for (BenchResult result : results) {
      if (result.costs() != null) {
        result.costs().forEach(stage -> add(table, result, stage));
      }
    }
    return "Nanoseconds a row of the executors' threads, by stage; CPU of the kernel in a column of its own; waiting "
        + "is the time that\ntasks ran without a processor. Stages that read a shuffle count the rows that they read.\n"
        + table.render();
  }

  private static void add(TextTable table, BenchResult result, StageCosts stage) {
    double all = stage.taskS() + stage.encoderS() + stage.decoderS() + stage.jitS() + stage.gcS() + stage.otherS()
        + stage.kernelS();
    table.row(result.workload(), result.engine(), stage.writes() ? "writes" : stage.rows() > 0 ? "reads" : "neither",
        String.format(Locale.ROOT, "%,d", stage.rows()), perRow(stage.taskS(), stage), perRow(stage.encoderS(), stage),
        perRow(stage.decoderS(), stage), perRow(stage.jitS(), stage), perRow(stage.gcS(), stage),
        perRow(stage.otherS(), stage), perRow(stage.kernelS(), stage), perRow(all, stage),
        perRow(stage.waitS(), stage));
  }

  /** Stages without a shuffle have no rows. */
  private static String perRow(double seconds, StageCosts stage) {
    return stage.rows() == 0 ? "-" : String.format(Locale.ROOT, "%.1f", seconds * NANOS / stage.rows());
  }
}
