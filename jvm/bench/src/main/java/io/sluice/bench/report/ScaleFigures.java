package io.sluice.bench.report;

import io.sluice.bench.page.HostsChart;
import io.sluice.bench.run.Engine;
import io.sluice.bench.run.Hosts;
import io.sluice.bench.scale.EngineCosts;
import io.sluice.bench.scale.HostKind;
import io.sluice.bench.scale.Prediction;
import io.sluice.bench.scale.Resource;
import io.sluice.bench.scale.ScaleModel;
import io.sluice.bench.scale.Shuffle;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;

/** The model of clusters beside what was measured and published, as Markdown, and as pictures. */
public final class ScaleFigures {

  public static final List<String> WORKLOADS = List.of("repartition", "terasort");

  /** What the model is compared with: on one, two and three hosts. */
  static final List<FigurePart> RUNS = List.of(FigurePart.NETWORKS_ONE_MACHINE, FigurePart.TWO_HOSTS,
      FigurePart.NETWORKS_100MBIT, FigurePart.NETWORKS_1GBIT);

  private static final double NANOS = 1e9;
  private static final double MICROS = 1e6;
  private static final double MIB = 1024.0 * 1024;
  private static final double GIB = 1024 * MIB;
  private static final double MBIT = 1e6 / 8;

  /** Rows of a map task and of a reduce task of the clusters below: some 128 MiB of either workload as Spark has it. */
  private static final double ROWS_OF_A_TASK = 1.3e6;
  private static final double ROWS_OF_A_HOST = 2e8;
  private static final int[] HOSTS = {10, 30, 100, 300, 1_000, 3_000, 10_000};
  private static final List<Integer> HOSTS_IN_TABLES = List.of(10, 100, 1_000, 10_000);
  private static final List<HostKind> KINDS = List.of(
      new HostKind("10 Gbit/s, 16 cores, one SSD of 500 MB/s", 16, 10_000 * MBIT, 500e6, 50e3, 16 * GIB),
      new HostKind("100 Gbit/s, 64 cores, NVMe of 4 GB/s", 64, 100_000 * MBIT, 4e9, 800e3, 64 * GIB));

  /** A job on a cluster whose times the SparkRDMA deployment guide prints. */
  private record Published(String job, Shuffle shuffle, double stockS, double rdmaS) {}

  /** 16 hosts with links of 100 Gbit/s; cores are those of the hosts in the SparkRDMA slides. */
  private static final double PUBLISHED_HOSTS = 16;
  private static final HostKind PUBLISHED_KIND = HostKind.withoutDisks("", 28, 100_000 * MBIT);
  private static final List<Published> PUBLISHED = List.of(
      new Published("HiBench TeraSort, 189 GB, 1,000 to 700", new Shuffle(1.89e9, 1_000, 700), 79.931, 52.166));

  private final Function<FigurePart, List<BenchResult>> results;
  private final CostsOfResults costs;
  private final Map<String, List<EngineCosts>> engines = new LinkedHashMap<>();

  private ScaleFigures(Function<FigurePart, List<BenchResult>> results) {
    this.results = results;
    costs = new CostsOfResults(results);
    WORKLOADS.forEach(workload -> engines.put(workload, costs.ofEngines(workload)));
  }

  /** Parts without which there is nothing to predict with. */
  static List<FigurePart> missing(Function<FigurePart, List<BenchResult>> results) {
    return CostsOfResults.PARTS.stream().filter(part -> results.apply(part).isEmpty()).toList();
  }

  /** What rows, blocks and tasks cost. */
  static String costs(Function<FigurePart, List<BenchResult>> results) {
    return new ScaleFigures(results).costs();
  }

  /** Predictions beside measured runs on few hosts, and beside published ones. */
  static String errors(Function<FigurePart, List<BenchResult>> results) {
    return new ScaleFigures(results).errors();
  }

  /** Predictions of clusters. */
  static String clusters(Function<FigurePart, List<BenchResult>> results) {
    return new ScaleFigures(results).clusters();
  }

  /** A picture of the clusters of {@code workload}; empty if the results do not suffice. */
  public static String picture(Function<FigurePart, List<BenchResult>> results, String workload) {
    return missing(results).isEmpty() ? new ScaleFigures(results).picture(workload) : "";
  }

  private String costs() {
    record Cost(String title, double unit, ToDoubleFunction<EngineCosts> of) {}
    List<Cost> all = List.of(new Cost("a row, map side, ns", NANOS, EngineCosts::mapRow),
        new Cost("a block, map side, µs", MICROS, EngineCosts::mapBlock),
        new Cost("a row, reduce side, ns", NANOS, EngineCosts::reduceRow),
        new Cost("a block, reduce side, µs", MICROS, EngineCosts::reduceBlock),
        new Cost("a task, ms", 1e3, EngineCosts::task),
        new Cost("a byte of another host, ns", NANOS, EngineCosts::remoteByte),
        new Cost("a block of another host, µs", MICROS, EngineCosts::remoteBlock),
        new Cost("shuffle bytes of a row", 1, EngineCosts::rowBytes),
        new Cost("shuffle bytes of a block beside them", 1, EngineCosts::blockBytes),
        new Cost("driver, a task, ms", 1e3, EngineCosts::driverTask),
        new Cost("driver, bytes sent of a block's size", 1, EngineCosts::statusBytesOfABlock));
    List<String> header = new ArrayList<>(List.of("cost"));
    engines.forEach((workload, each) -> each.forEach(one -> header.add("`" + workload + "`, " + one.name())));
    List<String> lines = new ArrayList<>(List.of(MarkdownFigures.row(header.toArray(String[]::new)),
        "| --- |" + " ---: |".repeat(header.size() - 1)));
    for (Cost cost : all) {
      List<String> cells = new ArrayList<>(List.of(cost.title()));
      engines.forEach((workload, each) -> each
          .forEach(one -> cells.add(significant(cost.of().applyAsDouble(one) * cost.unit()))));
      lines.add(MarkdownFigures.row(cells.toArray(String[]::new)));
    }
    List<BenchResult> measured =
        CostsOfResults.PARTS.stream().flatMap(part -> results.apply(part).stream()).toList();
    return String.join("\n", lines) + String.format(Locale.ROOT,
        "%n%nThe lines through 10 to 10,000 partitions are at most %.0f %% off a measured point.%n%n",
        100 * costs.mostOff()) + MarkdownFigures.setup(measured);
  }

  private String errors() {
    List<String> lines = new ArrayList<>(List.of(
        "| hosts and links | workload | engine | measured | predicted | off | measured ratio to stock | predicted |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |"));
    double most = 0;
    double sum = 0;
    int rows = 0;
    List<BenchResult> measured = new ArrayList<>();
    for (FigurePart part : RUNS) {
      for (Comparison comparison : Comparison.of(results.apply(part))) {
        double stockS = comparison.stock().map(this::predicted).orElse(Double.NaN);
        for (BenchResult result : comparison.results()) {
          double predictedS = predicted(result);
          double off = predictedS / result.medianS() - 1;
          most = Math.max(most, Math.abs(off));
          sum += Math.abs(off);
          rows++;
          measured.add(result);
          lines.add(MarkdownFigures.row(where(result), "`" + result.workload() + "`", result.engine(),
              MarkdownFigures.seconds(result), MarkdownFigures.tenths(predictedS),
              String.format(Locale.ROOT, "%+.0f %%", 100 * off), MarkdownFigures.speedup(comparison, result),
              comparison.speedup(result).map(x -> String.format(Locale.ROOT, "%.2f", stockS / predictedS)).orElse("")));
        }
      }
    }
    if (rows == 0) {
      return PublishedFigures.notMeasured(RUNS.toArray(FigurePart[]::new));
    }
    lines.add(String.format(Locale.ROOT, "%nOff by %.0f %% on average, by %.0f %% at most.", 100 * sum / rows,
        100 * most));
    return String.join("\n", lines) + "\n\n" + published() + "\n\n" + MarkdownFigures.setup(measured);
  }

  private String published() {
    List<String> lines = new ArrayList<>(List.of("| published | stock | RDMA | ratio | predicted stock | Sluice | "
        + "one-sided | stock with one-sided reads | ratio to stock of that |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"));
    for (Published each : PUBLISHED) {
      List<EngineCosts> terasort = engines.get("terasort");
      List<Double> seconds = new ArrayList<>();
      terasort.forEach(one -> seconds.add(published(one, each.shuffle())));
      double stockOneSided = published(costs.oneSided(terasort.get(0)), each.shuffle());
      lines.add(MarkdownFigures.row(each.job(), MarkdownFigures.tenths(each.stockS()),
          MarkdownFigures.tenths(each.rdmaS()), String.format(Locale.ROOT, "%.2f", each.stockS() / each.rdmaS()),
          MarkdownFigures.tenths(seconds.get(0)), MarkdownFigures.tenths(seconds.get(1)),
          MarkdownFigures.tenths(seconds.get(2)), MarkdownFigures.tenths(stockOneSided),
          String.format(Locale.ROOT, "%.2f", seconds.get(0) / stockOneSided)));
    }
    return String.join("\n", lines);
  }

  private static double published(EngineCosts engine, Shuffle shuffle) {
    return ScaleModel.predict(engine, PUBLISHED_KIND, PUBLISHED_HOSTS, shuffle).totalS();
  }

  /** What the model says of a run that was measured, whose hosts share one machine's cores. */
  private double predicted(BenchResult result) {
    Environment here = result.environment();
    Hosts hosts = here.hosts();
    EngineCosts engine = engines.get(result.workload()).stream()
        .filter(one -> one.name().equals(result.engine())).findFirst().orElseThrow();
    if (hosts == null) {
      return ScaleModel.predict(engine, HostKind.withoutDisks("", here.cores(), Double.POSITIVE_INFINITY), 1,
          CostsOfResults.shuffle(result)).totalS();
    }
    double cores = Math.min(hosts.cores(), (double) here.cores() / hosts.workers());
    return ScaleModel.predict(engine, HostKind.withoutDisks("", cores, bytesPerS(hosts.rate())), hosts.workers(),
        CostsOfResults.shuffle(result)).totalS();
  }

  /** Of {@code 100mbit} or {@code 1gbit}. */
  private static double bytesPerS(String rate) {
    double number = Double.parseDouble(rate.replaceAll("[a-z]+$", ""));
    return number * (rate.endsWith("gbit") ? 1_000 * MBIT : MBIT);
  }

  private static String where(BenchResult result) {
    Hosts hosts = result.environment().hosts();
    return hosts == null ? "one" : hosts.workers() + ", " + hosts.rate();
  }

  /** So much on every host, whatever their number: as much as can be done at once. */
  private static Shuffle onHosts(double hosts) {
    double tasks = hosts * ROWS_OF_A_HOST / ROWS_OF_A_TASK;
    return new Shuffle(hosts * ROWS_OF_A_HOST, tasks, tasks);
  }

  private String clusters() {
    List<String> parts = new ArrayList<>();
    for (HostKind kind : KINDS) {
      List<String> lines = new ArrayList<>(List.of("### Hosts with " + kind.name(), "",
          "| workload | hosts | engine | bytes of a block | map stage | limited by | reduce stage | limited by | "
              + "map statuses | in all | times as fast as stock |",
          "| --- | ---: | --- | ---: | ---: | --- | ---: | --- | ---: | ---: | ---: |"));
      engines.forEach((workload, each) -> HOSTS_IN_TABLES.forEach(hosts -> {
        double stockS = predict(each.get(0), kind, hosts).totalS();
        for (EngineCosts engine : each) {
          Prediction one = predict(engine, kind, hosts);
          lines.add(MarkdownFigures.row("`" + workload + "`", String.format(Locale.ROOT, "%,d", hosts), engine.name(),
              String.format(Locale.ROOT, "%,.0f", one.blockBytes()), whole(one.mapS()), limit(one.map()),
              whole(one.reduceS()), limit(one.reduce()),
              String.format(Locale.ROOT, "%,.0f MiB", one.statusBytes() / MIB), whole(one.totalS()),
              engine.name().equals(Engine.STOCK.label()) ? ""
                  : String.format(Locale.ROOT, "**%.2f**", stockS / one.totalS())));
        }
      }));
      parts.add(String.join("\n", lines));
    }
    return String.join("\n\n", parts);
  }

  private static Prediction predict(EngineCosts engine, HostKind kind, double hosts) {
    return ScaleModel.predict(engine, kind, hosts, onHosts(hosts));
  }

  private static String limit(Map<Resource, Double> stage) {
    return Prediction.limit(stage).label();
  }

  private String picture(String workload) {
    List<HostsChart.Panel> panels = KINDS.stream().map(kind -> new HostsChart.Panel(kind.name(),
        engines.get(workload).stream().map(engine -> {
          double[] x = new double[HOSTS.length];
          double[] y = new double[HOSTS.length];
          for (int i = 0; i < HOSTS.length; i++) {
            x[i] = HOSTS[i];
            y[i] = predict(engine, kind, HOSTS[i]).totalS();
          }
          return new HostsChart.Line(engine.name(), x, y);
        }).toList())).toList();
    return HostsChart.of(panels, "scale-" + workload, "predicted seconds of " + workload + " by number of hosts");
  }

  private static String whole(double seconds) {
    return String.format(Locale.ROOT, "%,.0f s", seconds);
  }

  /** Three digits. */
  private static String significant(double value) {
    return value == 0 ? "0" : value >= 100 ? String.format(Locale.ROOT, "%,.0f", value)
        : value >= 10 ? String.format(Locale.ROOT, "%.1f", value) : String.format(Locale.ROOT, "%.2f", value);
  }
}
