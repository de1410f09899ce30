package io.sluice.bench.run;

import io.sluice.bench.report.Progress;
import io.sluice.bench.tables.Benchmark;
import io.sluice.bench.tables.TableFiles;
import io.sluice.bench.tables.TableForm;
import io.sluice.bench.workload.Sizing;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Makes the tables of a benchmark, once per scale, for all engines and later runs.
 *
 * <p>This has an application on stock of its own, which is closed before anything is measured: TPC-H's dbgen holds 300
 * MB of text in every executor for as long as it lives.
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
   * The tables of {@code benchmark} at {@code scale} in {@code form}: those that {@code queries} read are made if they
   * are not there.
   *
   * @param queries names of queries within the benchmark
   * @throws EngineFailure if they cannot be made
   */
  public TableFiles tables(Benchmark benchmark, double scale, TableForm form, List<String> queries) {
    TableFiles tables = TableFiles.below(workplace.tables(benchmark), benchmark, scale, form);
    if (benchmark == Benchmark.TPCDS) {
      workplace.sluice("no queries of TPC-DS", List.of("tpcds-queries", tables.queries().toString()));
    }
    String texts = queries.stream().map(query -> benchmark.text(query, tables)).collect(Collectors.joining("\n"));
    new TableCache(tables).ensure(benchmark.tablesIn(texts), missing -> make(tables, missing));
    return tables;
  }

  private void make(TableFiles tables, List<String> names) {
    checkSpace(tables);
    Sizing sizing = new Sizing(1, 1, 0).reading(tables);
    try (Progress progress = Progress.start(tables.benchmark().label() + " tables", 1);
        Application application = Application.start(Engine.STOCK, home, workplace, site, user)) {
      long start = System.nanoTime();
      progress.step(names.size() == 1 ? names.get(0) : names.size() + " tables");
      application.makeTables(names, sizing, progress::tasks);
      progress.stepDone(String.format(Locale.ROOT, "made in %.1f s", (System.nanoTime() - start) / 1e9));
    }
  }

  /** Parquet takes about half of what the same rows are as text. */
  private static void checkSpace(TableFiles tables) {
    Space.check("tables of " + tables.benchmark().title() + " at scale " + tables.scale(),
        tables.rows() * tables.benchmark().rowBytes() / 2, Path.of(tables.folder()));
  }
}
