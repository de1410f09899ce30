package io.sluice.bench.run;

import io.sluice.bench.report.Progress;
import io.sluice.bench.tpch.Table;
import io.sluice.bench.tpch.TpchTables;
import io.sluice.bench.workload.Sizing;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Makes the tables of TPC-H, once per scale, for all engines and later runs.
 *
 * <p>This has an application on stock of its own, which is closed before anything is measured: dbgen holds 300 MB
 * of text in every executor for as long as it lives.
 */
public final class TableGeneration {

  private final SparkHome home;
  private final Workplace workplace;
  private final Site site;
  private final Map<String, String> user;

  /** A generation at {@code site} with the user's settings, except for those that would change files. */
  public TableGeneration(SparkHome home, Workplace workplace, Site site, Map<String, String> user) {
    this.home = home;
    this.workplace = workplace;
    this.site = site;
    this.user = user.entrySet().stream().filter(setting -> !setting.getKey().startsWith("spark.sql."))
        .collect(Collectors.toMap(Map.Entry::getKey, Map.Entry::getValue));
  }

  /**
   * The tables of {@code scale}, made if they are not there.
   *
   * @throws EngineFailure if they cannot be made
   */
  public TpchTables tables(double scale) {
    return new TableCache(workplace.tpch()).tables(scale, this::make);
  }

  private void make(TpchTables tables) {
    Sizing sizing = new Sizing(1, 1, 0).reading(tables);
    try (Progress progress = Progress.start("tpch tables", Table.values().length);
        Application application = Application.start(Engine.STOCK, home, workplace, site, user)) {
      for (Table table : Table.values()) {
        long start = System.nanoTime();
        progress.step(table.label());
        application.makeTable(table, sizing, progress::tasks);
        progress.stepDone(String.format(Locale.ROOT, "made in %.1f s", (System.nanoTime() - start) / 1e9));
      }
    }
  }
}
