package io.sluice.bench.report;

import io.sluice.bench.protocol.StageCosts;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.BiConsumer;

/**
 * What {@code ./sluice bench --accounting} prints: nanoseconds a row that each kind of work took, by stage, and for
 * what tasks waited.
 */
public final class AccountingText {

  /** What applications need for it: the driver is asked for the figures, and Sluice posts its events for a UI only. */
  public static final Map<String, String> SETTINGS =
      Map.of("spark.sluicebench.accounting", "true", "spark.ui.enabled", "true", "spark.ui.port", "0");

  private static final double NANOS = 1e9;

  private AccountingText() {}

  /** Tables of the results that have such figures. */
  public static String render(List<BenchResult> results) {
    return """
        CPU of the executors, nanoseconds a row. Stages that read a shuffle and write none count the rows that they
        read. "task" is the task threads' time outside Sluice's native code; "encoder", "decoder" and "commit" (writing
        data files) are that code's, on the task threads and on its own. "kernel" is a part of all CPU.
        """ + table(results, "task,encoder,decoder,commit,JIT,GC,other,all CPU,kernel", AccountingText::cpu) + """


        For what tasks waited, nanoseconds a row: "for a core", which other threads had; for the garbage collector; for
        blocks, as Spark counts it; "for other": locks, disks, other threads. Where two of them came together, the
        first one has it.
        """ + table(results, "all waiting,for a core,for GC,for blocks,for other", AccountingText::waits);
  }

  private static String table(List<BenchResult> results, String columns, BiConsumer<StageCosts, List<String>> figures) {
    TextTable table = new TextTable(3, ("workload,engine,stage,rows," + columns).split(","));
    for (BenchResult result : results) {
      if (result.costs() != null) {
        result.costs().forEach(stage -> table.row(cells(result, stage, figures)));
      }
    }
    return table.render();
  }

  private static String[] cells(BenchResult result, StageCosts stage, BiConsumer<StageCosts, List<String>> figures) {
    List<String> cells = new ArrayList<>(List.of(result.workload(), result.engine(),
        stage.writes() ? "writes" : stage.rows() > 0 ? "reads" : "neither",
        String.format(Locale.ROOT, "%,d", stage.rows())));
    figures.accept(stage, cells);
    return cells.toArray(String[]::new);
  }

  private static void cpu(StageCosts stage, List<String> cells) {
    for (double seconds : new double[] {stage.taskS(), stage.encoderS(), stage.decoderS(), stage.commitS(),
      stage.jitS(), stage.gcS(), stage.otherS(), stage.cpuS(), stage.kernelS()}) {
      cells.add(perRow(seconds, stage));
    }
  }

  private static void waits(StageCosts stage, List<String> cells) {
    for (Double seconds : new Double[] {stage.waitS(), stage.waitCoreS(), stage.waitGcS(), stage.waitFetchS(),
      stage.waitOtherS()}) {
      cells.add(perRow(seconds, stage));
    }
  }

  /**
   * Stages without a shuffle have no rows.
   *
   * @param seconds null where they are not known
   */
  private static String perRow(Double seconds, StageCosts stage) {
    return stage.rows() == 0 || seconds == null ? "-"
        : String.format(Locale.ROOT, "%.1f", seconds * NANOS / stage.rows());
  }
}
