package io.sluice.bench.report;

import io.sluice.bench.protocol.ProcessCosts;
import io.sluice.bench.run.Engine;
import io.sluice.bench.tables.Benchmark;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import java.util.function.ToDoubleFunction;
import java.util.stream.Stream;

/**
 * Tables of other projects' engines beside stock and Sluice. CPU, memory and bytes written to disks are those of all
 * processes of an engine, servers too.
 */
final class PeerFigures {

  /** Behind a project's name: the engine that has its operators and Sluice's shuffle. */
  private static final String ON_SLUICE = "+sluice";

  /** The workloads of {@link #exchange}: a table that is read, and the same sent through one exchange. */
  private static final String SCAN = Benchmark.TPCH.label() + "-" + Benchmark.SCAN;
  private static final String EXCHANGE = Benchmark.TPCH.label() + "-" + Benchmark.EXCHANGE;
  /** Of {@code lineitem}, which both read. */
  private static final int COLUMNS = 16;

  private static final String STOCK = Engine.STOCK.label();
  private static final double NANOS = 1e9;

  private PeerFigures() {}

  /** Every engine of every workload. */
  static String workloads(List<BenchResult> results) {
    List<String> lines = new ArrayList<>(List.of(
        "| workload | engine | median | times as fast | shuffle bytes | CPU of all processes | peak memory | "
            + "written to disks | over loopback |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"));
    for (Comparison comparison : Comparison.of(results)) {
      for (BenchResult result : comparison.results()) {
        Optional<ProcessCosts> all = Optional.ofNullable(result.processes());
        lines.add(MarkdownFigures.row("`" + comparison.label() + "`", result.engine(), MarkdownFigures.seconds(result),
            MarkdownFigures.speedup(comparison, result),
            MarkdownFigures.part(comparison, result, BenchResult::shuffleWriteBytes),
            all.map(costs -> MarkdownFigures.tenths(costs.cpuS())).orElse(""),
            all.map(costs -> megabytes(costs.peakRssBytes())).orElse(""),
            all.map(costs -> megabytes(costs.writtenBytes())).orElse(""),
            all.map(ProcessCosts::loopbackBytes).map(PeerFigures::megabytes).orElse("")));
      }
    }
    return String.join("\n", lines) + "\n\n" + MarkdownFigures.setup(results);
  }

  /**
   * The queries of a benchmark: all taken together, a row per engine; what a project gains from Sluice's shuffle; then
   * each of them. Queries that not every engine has are left out.
   */
  static String queries(List<BenchResult> results) {
    List<String> engines = results.stream().map(BenchResult::engine).distinct().toList();
    List<Comparison> whole = Comparison.of(results).stream()
        .filter(each -> each.stock().isPresent() && engines.stream().allMatch(engine -> each.on(engine).isPresent()))
        .toList();
    if (whole.isEmpty()) {
      return "No query has results of every engine.\n\n" + MarkdownFigures.setup(results);
    }
    List<String> parts = new ArrayList<>(List.of(together(whole, engines)));
    engines.stream().filter(engine -> engine.endsWith(ON_SLUICE)).forEach(engine -> {
      String alone = engine.substring(0, engine.length() - ON_SLUICE.length());
      if (engines.contains(alone)) {
        parts.add(gain(whole, alone, engine));
      }
    });
    parts.add(each(whole, engines));
    parts.add(MarkdownFigures.setup(results));
    return String.join("\n\n", parts);
  }

  private static String together(List<Comparison> whole, List<String> engines) {
    List<String> lines = new ArrayList<>(List.of(
        "| engine | queries | all together | times as fast, geometric mean | lowest | greatest | shuffle bytes | "
            + "CPU of all processes | peak memory | written to disks |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"));
    for (String engine : engines) {
      List<BenchResult> own = whole.stream().map(each -> on(each, engine)).toList();
      Statistics spread = Statistics.of(ratios(whole, STOCK, engine));
      List<ProcessCosts> all = own.stream().map(BenchResult::processes).filter(Objects::nonNull).toList();
      lines.add(MarkdownFigures.row(engine, Integer.toString(own.size()),
          MarkdownFigures.tenths(own.stream().mapToDouble(BenchResult::medianS).sum()),
          String.format(Locale.ROOT, "**%.2f**", Statistics.geometricMean(ratios(whole, STOCK, engine))),
          String.format(Locale.ROOT, "%.2f", spread.min()), String.format(Locale.ROOT, "%.2f", spread.max()),
          megabytes(own.stream().mapToLong(BenchResult::shuffleWriteBytes).sum()),
          MarkdownFigures.tenths(all.stream().mapToDouble(ProcessCosts::cpuS).sum()),
          megabytes(all.stream().mapToLong(ProcessCosts::peakRssBytes).max().orElse(0)),
          megabytes(all.stream().mapToLong(ProcessCosts::writtenBytes).sum())));
    }
    return String.join("\n", lines);
  }

  /** {@code onSluice} beside {@code alone}, in a sentence. */
  private static String gain(List<Comparison> whole, String alone, String onSluice) {
    double[] ratios = ratios(whole, alone, onSluice);
    Comparison slowest =
        whole.stream().min(Comparator.comparing((Comparison each) -> ratio(each, alone, onSluice))).orElseThrow();
    double seconds = sum(whole, alone, BenchResult::medianS) / sum(whole, onSluice, BenchResult::medianS);
    return String.format(Locale.ROOT, "`%s` beside `%s`: %.2f times as fast over all, geometric mean of the ratios "
        + "**%.2f**, lowest %.2f (`%s`); %.2f of its shuffle bytes, %.2f of the CPU of all processes.", onSluice, alone,
        seconds, Statistics.geometricMean(ratios), ratio(slowest, alone, onSluice), slowest.label(),
        sum(whole, onSluice, BenchResult::shuffleWriteBytes) / sum(whole, alone, BenchResult::shuffleWriteBytes),
        sum(whole, onSluice, PeerFigures::cpuS) / sum(whole, alone, PeerFigures::cpuS));
  }

  private static String each(List<Comparison> whole, List<String> engines) {
    List<String> others = engines.stream().filter(engine -> !engine.equals(STOCK)).toList();
    List<String> lines = new ArrayList<>(List.of(
        MarkdownFigures.row(Stream.concat(Stream.of("query", STOCK), others.stream()).toArray(String[]::new)),
        "| --- " + "| --- ".repeat(engines.size()) + "|"));
    for (Comparison query : whole) {
      lines.add(MarkdownFigures.row(Stream.concat(
          Stream.of("`" + query.label() + "`", MarkdownFigures.seconds(on(query, STOCK))),
          others.stream().map(engine -> String.format(Locale.ROOT, "%.2f", ratio(query, STOCK, engine))))
          .toArray(String[]::new)));
    }
    return String.join("\n", lines);
  }

  /**
   * What one exchange of a table costs on every engine: the figures of {@link #EXCHANGE} less those of {@link #SCAN},
   * which reads the same files. The exchange's two stages are in it, its writer and its reader.
   */
  static String exchange(List<BenchResult> results) {
    List<Comparison> comparisons = Comparison.of(results);
    Comparison scan = named(comparisons, SCAN);
    Comparison exchange = named(comparisons, EXCHANGE);
    List<String> lines = new ArrayList<>(List.of(
        "| engine | scan | scan and exchange | the exchange | its CPU (executors) | ns of CPU a row | a value | "
            + "bytes a row |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |"));
    for (BenchResult result : exchange.results()) {
      BenchResult floor = on(scan, result.engine());
      double cpu = result.processCpuS() - floor.processCpuS();
      lines.add(MarkdownFigures.row(result.engine(), MarkdownFigures.seconds(floor), MarkdownFigures.seconds(result),
          MarkdownFigures.tenths(result.medianS() - floor.medianS()), MarkdownFigures.tenths(cpu),
          String.format(Locale.ROOT, "%.0f", NANOS * cpu / result.records()),
          String.format(Locale.ROOT, "%.1f", NANOS * cpu / result.records() / COLUMNS),
          String.format(Locale.ROOT, "%.1f", (double) result.shuffleWriteBytes() / result.records())));
    }
    return String.join("\n", lines) + "\n\n" + MarkdownFigures.setup(results);
  }

  private static Comparison named(List<Comparison> comparisons, String workload) {
    return comparisons.stream().filter(each -> each.results().get(0).workload().equals(workload)).findFirst()
        .orElseThrow(() -> new IllegalArgumentException("the results have no " + workload));
  }

  private static BenchResult on(Comparison comparison, String engine) {
    return comparison.on(engine).orElseThrow(
        () -> new IllegalArgumentException(comparison.label() + " has no result of " + engine));
  }

  private static double[] ratios(List<Comparison> comparisons, String reference, String engine) {
    return comparisons.stream().mapToDouble(each -> ratio(each, reference, engine)).toArray();
  }

  /** How many times as fast as {@code reference} {@code engine} is. */
  private static double ratio(Comparison comparison, String reference, String engine) {
    return on(comparison, reference).medianS() / on(comparison, engine).medianS();
  }

  private static double sum(List<Comparison> comparisons, String engine, ToDoubleFunction<BenchResult> figure) {
    return comparisons.stream().mapToDouble(each -> figure.applyAsDouble(on(each, engine))).sum();
  }

  private static double cpuS(BenchResult result) {
    return result.processes() == null ? result.processCpuS() : result.processes().cpuS();
  }

  private static String megabytes(long bytes) {
    return String.format(Locale.ROOT, "%,d MB", Math.round(bytes / 1e6));
  }
}
