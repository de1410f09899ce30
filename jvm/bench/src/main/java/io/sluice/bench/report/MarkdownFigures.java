package io.sluice.bench.report;

import io.sluice.bench.catalogue.Catalogue;
import io.sluice.bench.run.Engine;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;

/** Results as tables and sentences of Markdown; CPU of the executors is always that of the whole processes. */
final class MarkdownFigures {

  /** How many times as fast as stock each workload is to be on two cores. */
  private static final Map<String, Double> GOALS = Map.ofEntries(
      Map.entry("repartition", 2.4), Map.entry("round-robin", 3.0), Map.entry("join", 2.2), Map.entry("sort", 2.3),
      Map.entry("sort-strings", 2.3), Map.entry("sort-multi", 2.3), Map.entry("terasort-df", 2.5),
      Map.entry("window", 1.8), Map.entry("distinct-sql", 1.8), Map.entry("aggregate", 1.4),
      Map.entry("skew-join", 1.4), Map.entry("collect-list", 1.4), Map.entry("hibench-terasort", 3.0),
      Map.entry("spark-terasort", 3.0), Map.entry("groupby", 2.0), Map.entry("groupby-objects", 1.3),
      Map.entry("aggregate-sets", 1.3), Map.entry("sort-rdd", 2.5), Map.entry("pagerank", 2.5),
      Map.entry("wordcount", 2.2), Map.entry("wordcount-text", 2.2), Map.entry("cogroup-join", 2.2),
      Map.entry("terasort", 4.0), Map.entry("distinct", 1.2), Map.entry("cold-query", 1.0), Map.entry("small", 1.0),
      Map.entry("wide", 1.0));

  private static final double GOALS_ON_SPARK_35 = 0.9;

  private MarkdownFigures() {}

  /** A row per workload, the greatest speed-up first. */
  static String workloads(List<BenchResult> results) {
    List<String> lines = new ArrayList<>(List.of(
        "| workload | rows | stock | Sluice | times as fast | shuffle bytes | CPU of the executors | "
            + "CPU of the tasks |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |"));
    Comparison.of(results).stream().filter(MarkdownFigures::comparesBoth)
        .sorted(Comparator.comparing((Comparison each) -> each.speedup(sluice(each)).orElseThrow()).reversed())
        .forEach(each -> lines.add(workload(each)));
    return String.join("\n", lines) + "\n\n" + setup(results);
  }

  private static String workload(Comparison each) {
    return row("`" + each.label() + "`: " + what(sluice(each)), String.format(Locale.ROOT, "%,d", sluice(each).rows()),
        seconds(stock(each)), seconds(sluice(each)), speedup(each, sluice(each)),
        part(each, sluice(each), BenchResult::shuffleWriteBytes), part(each, sluice(each), BenchResult::processCpuS),
        part(each, sluice(each), BenchResult::cpuS));
  }

  /** A row per workload that has a goal: what was meant, what was reached. */
  static String goals(List<BenchResult> results) {
    return goals(results, 1);
  }

  /** The same on Spark 3.5, where the goals are ten percent lower, with where it was measured. */
  static String goalsOnSpark35(List<BenchResult> results) {
    return goals(results, GOALS_ON_SPARK_35) + "\n\n" + setup(results);
  }

  private static String goals(List<BenchResult> results, double part) {
    List<String> lines = new ArrayList<>(List.of(
        "| workload | goal | reached | | stock's executor CPU | Sluice's | task CPU of stock | of Sluice |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |"));
    Comparison.of(results).stream()
        .filter(each -> comparesBoth(each) && GOALS.containsKey(sluice(each).workload()))
        .forEach(each -> lines.add(goal(each, part)));
    return String.join("\n", lines);
  }

  private static String goal(Comparison each, double part) {
    double goal = part * GOALS.get(sluice(each).workload());
    return row("`" + each.label() + "`", String.format(Locale.ROOT, part == 1 ? "%.1f" : "%.2f", goal),
        speedup(each, sluice(each)),
        each.speedup(sluice(each)).orElseThrow() >= goal ? "met" : "not met", tenths(stock(each).processCpuS()),
        tenths(sluice(each).processCpuS()), tenths(stock(each).cpuS()), tenths(sluice(each).cpuS()));
  }

  /** The queries of a benchmark taken together. */
  static String queries(List<BenchResult> results) {
    return BenchmarkSummary.of(Comparison.of(results)).stream().map(BenchmarkSummary::sentences)
        .map(sentences -> String.join("\n", sentences)).collect(Collectors.joining("\n")) + "\n\n" + setup(results);
  }

  /** The first query, and what starting Spark takes before it. */
  static String cold(List<BenchResult> results) {
    List<String> lines = new ArrayList<>(List.of(
        "| engine | first query | times as fast | CPU of the executors | CPU of the tasks | Spark is up after |",
        "| --- | --- | --- | --- | --- | --- |"));
    for (Comparison comparison : Comparison.of(results)) {
      for (BenchResult result : comparison.results()) {
        lines.add(row(result.engine(), seconds(result), speedup(comparison, result),
            tenths(result.processCpuS()), tenths(result.cpuS()),
            result.startS() == null ? "" : tenths(result.startS())));
      }
    }
    return String.join("\n", lines) + "\n\n" + setup(results);
  }

  /** Every engine of every workload. */
  static String modes(List<BenchResult> results) {
    List<String> lines = new ArrayList<>(List.of(
        "| workload | engine | median | times as fast | shuffle bytes | CPU of the executors | CPU of the tasks |",
        "| --- | --- | --- | --- | --- | --- | --- |"));
    for (Comparison comparison : Comparison.of(results)) {
      for (BenchResult result : comparison.results()) {
        lines.add(row("`" + comparison.label() + "`", result.engine(), seconds(result), speedup(comparison, result),
            part(comparison, result, BenchResult::shuffleWriteBytes),
            part(comparison, result, BenchResult::processCpuS), part(comparison, result, BenchResult::cpuS)));
      }
    }
    return String.join("\n", lines) + "\n\n" + setup(results);
  }

  /** How and where {@code results} were measured. */
  static String setup(List<BenchResult> results) {
    return setup(results, distinct(results, result -> "`" + result.environment().where() + "`"));
  }

  /** The same where {@code where} says in words on which master or hosts. */
  static String setup(List<BenchResult> results, String where) {
    return "Spark " + distinct(results, BenchResult::spark) + ", " + where + ", medians of "
        + distinct(results, result -> Integer.toString(result.runsS().size())) + " runs of every engine in turn, on "
        + distinct(results, result -> result.environment().machine()) + ",\n"
        + distinct(results, result -> result.environment().started().substring(0, "2026-01-01".length()))
        + ", commit " + distinct(results, result -> Optional.ofNullable(result.environment().commit()).orElse("?"))
        + ". Bytes and CPU are relative to stock unless they have a unit.";
  }

  private static String distinct(List<BenchResult> results, Function<BenchResult, String> value) {
    return results.stream().map(value).distinct().sorted().collect(Collectors.joining(", "));
  }

  private static boolean comparesBoth(Comparison comparison) {
    return comparison.stock().isPresent() && comparison.on(Engine.SLUICE.label()).isPresent();
  }

  private static BenchResult stock(Comparison comparison) {
    return comparison.stock().orElseThrow();
  }

  private static BenchResult sluice(Comparison comparison) {
    return comparison.on(Engine.SLUICE.label()).orElseThrow();
  }

  /** The workload's name, and what it does. */
  static String named(BenchResult result) {
    return "`" + result.workload() + "`: " + what(result);
  }

  private static String what(BenchResult result) {
    return Catalogue.isKnown(result.workload()) ? Catalogue.find(result.workload()).what() : "";
  }

  static String seconds(BenchResult result) {
    return tenths(result.medianS());
  }

  static String tenths(double seconds) {
    return String.format(Locale.ROOT, "%.1f s", seconds);
  }

  static String speedup(Comparison comparison, BenchResult result) {
    return comparison.speedup(result).map(ratio -> String.format(Locale.ROOT, "**%.2f**", ratio)).orElse("");
  }

  /** {@code figure} relative to stock's; nothing where stock has none, and for stock itself. */
  static String part(Comparison comparison, BenchResult result, ToDoubleFunction<BenchResult> figure) {
    return comparison.speedup(result).isEmpty() || figure.applyAsDouble(stock(comparison)) <= 0 ? ""
        : String.format(Locale.ROOT, "%.2f", figure.applyAsDouble(result) / figure.applyAsDouble(stock(comparison)));
  }

  static String row(String... cells) {
    return "| " + String.join(" | ", cells) + " |";
  }
}
