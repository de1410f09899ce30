package io.sluice.bench.report;

import io.sluice.bench.run.Engine;
import io.sluice.bench.catalogue.Catalogue;
import io.sluice.bench.tables.Benchmark;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;

/**
 * The queries of TPC-H or TPC-DS from one call of bench, taken together.
 *
 * @param queries at least one, in the order in which they were measured
 */
public record BenchmarkSummary(List<Comparison> queries) {

  /** Stock shuffles little in a query if it writes less than this part of the tables' bytes. */
  private static final double LITTLE = 0.001;

  /** One per benchmark, Spark version and environment that has queries among {@code comparisons}. */
  public static List<BenchmarkSummary> of(List<Comparison> comparisons) {
    Map<List<Object>, List<Comparison>> benchmarks = new LinkedHashMap<>();
    for (Comparison comparison : comparisons) {
      BenchResult first = comparison.results().get(0);
      Benchmark.of(first.workload()).filter(any -> Benchmark.isQuery(first.workload()))
          .ifPresent(benchmark -> benchmarks.computeIfAbsent(
              List.of(benchmark, first.spark(), first.rows(), first.environment()), key -> new ArrayList<>())
              .add(comparison));
    }
    return benchmarks.values().stream().map(BenchmarkSummary::new).toList();
  }

  /** Whose queries they are. */
  public Benchmark benchmark() {
    return Benchmark.of(queries.get(0).results().get(0).workload()).orElseThrow();
  }

  /** What was measured, as a heading. */
  public String title() {
    BenchResult first = queries.get(0).results().get(0);
    Double scale = first.environment().scale();
    String where = scale == null ? "" : String.format(Locale.ROOT, " at scale %s", scale).replaceAll("\\.0$", "");
    return benchmark().title() + where + ", Spark " + first.spark();
  }

  /**
   * Sums of times and means of ratios for every engine beside stock, then the queries that were measured again, then
   * those with little shuffle.
   */
  public List<String> sentences() {
    List<String> sentences = new ArrayList<>();
    queries.stream().flatMap(query -> query.results().stream()).map(BenchResult::engine).distinct()
        .forEach(engine -> against(engine).ifPresent(sentences::add));
    String again = queries.stream().flatMap(query -> measuredAgain(query).stream()).collect(Collectors.joining(", "));
    if (!again.isEmpty()) {
      sentences.add("Measured again with more runs, which count, because the first ratio was below its floor: " + again
          + ".");
    }
    String little = queries.stream().filter(BenchmarkSummary::shufflesLittle).map(BenchmarkSummary::name)
        .collect(Collectors.joining(", "));
    if (!little.isEmpty()) {
      sentences.add("Little shuffle (stock writes less than a thousandth of the tables' size): " + little + ".");
    }
    return sentences;
  }

  /** The part of a workload's name that tells it from other queries. */
  public static String name(Comparison query) {
    String workload = query.results().get(0).workload();
    return Benchmark.of(workload).orElseThrow().query(workload);
  }

  private Optional<String> against(String engine) {
    List<Comparison> both = queries.stream().filter(query -> ratio(query, engine).isPresent()).toList();
    if (both.isEmpty()) {
      return Optional.empty();
    }
    Comparison slowest = both.stream().min(Comparator.comparing(query -> ratio(query, engine).orElseThrow()))
        .orElseThrow();
    double stockS = both.stream().mapToDouble(query -> query.stock().orElseThrow().medianS()).sum();
    double engineS = both.stream().mapToDouble(query -> query.on(engine).orElseThrow().medianS()).sum();
    return Optional.of(String.format(Locale.ROOT, "%d %s: stock %.1f s, %s %.1f s in all, %.2f times as fast; "
        + "geometric mean of the ratios %.2f, lowest %.2f (%s); shuffle bytes %s, CPU of the executor processes %s and "
        + "of the tasks %s of stock's.", both.size(),
        both.size() == 1 ? "query" : "queries", stockS, engine, engineS, stockS / engineS,
        Statistics.geometricMean(both.stream().mapToDouble(query -> ratio(query, engine).orElseThrow()).toArray()),
        ratio(slowest, engine).orElseThrow(), name(slowest), part(both, engine, BenchResult::shuffleWriteBytes),
        part(both, engine, BenchResult::processCpuS), part(both, engine, BenchResult::cpuS)));
  }

  /** The sum of {@code figure} over the queries, relative to stock's; a dash where stock has none. */
  private static String part(List<Comparison> queries, String engine, ToDoubleFunction<BenchResult> figure) {
    double stock = queries.stream().mapToDouble(query -> figure.applyAsDouble(query.stock().orElseThrow())).sum();
    double own = queries.stream().mapToDouble(query -> figure.applyAsDouble(query.on(engine).orElseThrow())).sum();
    return stock > 0 ? String.format(Locale.ROOT, "%.2f", own / stock) : "-";
  }

  private static Optional<Double> ratio(Comparison query, String engine) {
    return query.on(engine).flatMap(query::speedup);
  }

  private static Optional<String> measuredAgain(Comparison query) {
    return query.on(Engine.SLUICE.label()).filter(result -> result.firstRatio() != null)
        .map(result -> String.format(Locale.ROOT, "%s (%.2f, then %.2f)", name(query), result.firstRatio(),
            query.speedup(result).orElseThrow()));
  }

  private static boolean shufflesLittle(Comparison query) {
    return query.on(Engine.STOCK.label()).filter(stock -> stock.shuffleWriteBytes()
        < LITTLE * stock.rows() * Catalogue.find(stock.workload()).rowBytes()).isPresent();
  }
}
