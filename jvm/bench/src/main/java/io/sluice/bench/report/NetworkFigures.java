package io.sluice.bench.report;

import io.sluice.bench.run.Hosts;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.LinkedHashMap;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;

/** Workloads on links of several kinds ({@link FigurePart#NETWORKS}), beside what they were meant to reach there. */
final class NetworkFigures {

  /** How near to the ratio of the shuffles' bytes the ratio of the times is to be where the links are the limit. */
  private static final double PART_OF_BYTES = 0.95;
  private static final double AS_FAST_AS_STOCK = 1;

  private final Map<FigurePart, List<Comparison>> measured = new LinkedHashMap<>();

  private NetworkFigures(Function<FigurePart, List<BenchResult>> results) {
    for (FigurePart part : FigurePart.NETWORKS) {
      List<BenchResult> own = results.apply(part);
      if (!own.isEmpty()) {
        measured.put(part, Comparison.of(own));
      }
    }
  }

  /** A row per link, workload and engine, and what was not measured yet. */
  static String table(Function<FigurePart, List<BenchResult>> results) {
    NetworkFigures figures = new NetworkFigures(results);
    String missing = figures.missing();
    if (figures.measured.isEmpty()) {
      return missing;
    }
    return figures.rows() + (missing.isEmpty() ? "" : "\n\n" + missing);
  }

  private String missing() {
    List<String> parts = FigurePart.NETWORKS.stream().filter(part -> !measured.containsKey(part))
        .map(FigurePart::label).toList();
    return parts.isEmpty() ? "" : "Not measured yet: `./sluice figures --only "
        + (measured.isEmpty() ? FigurePart.NETWORKS_LABEL : String.join(",", parts)) + "`.";
  }

  private String rows() {
    List<String> lines = new ArrayList<>(List.of(
        "| hosts and links | workload | engine | median | times as fast | goal | | shuffle bytes | waits for blocks | "
            + "failed tasks |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"));
    measured.forEach((part, comparisons) -> comparisons.forEach(comparison -> comparison.results()
        .forEach(result -> lines.add(row(part, comparison, result)))));
    List<BenchResult> all = measured.values().stream().flatMap(List::stream)
        .flatMap(comparison -> comparison.results().stream()).toList();
    return String.join("\n", lines) + "\n\n" + MarkdownFigures.setup(all, all.stream().map(NetworkFigures::executors)
        .distinct().collect(Collectors.joining(" and ")));
  }

  private String row(FigurePart part, Comparison comparison, BenchResult result) {
    Optional<Double> goal = goal(part, comparison, result);
    return MarkdownFigures.row(links(result.environment()), "`" + comparison.label() + "`", result.engine(),
        MarkdownFigures.seconds(result), MarkdownFigures.speedup(comparison, result),
        goal.map(NetworkFigures::hundredths).orElse(""),
        goal.map(least -> comparison.speedup(result).orElseThrow() >= least ? "met" : "not met").orElse(""),
        comparison.bytesPart(result).map(NetworkFigures::hundredths).orElse(""),
        MarkdownFigures.tenths(result.fetchWaitS()), Long.toString(result.failedTasks()));
  }

  /** How many times as fast as stock the engine is to be on these links; nothing where no goal was set. */
  private Optional<Double> goal(FigurePart part, Comparison comparison, BenchResult result) {
    if (comparison.speedup(result).isEmpty()) {
      return Optional.empty();
    }
    return switch (part) {
      case NETWORKS_100MBIT -> comparison.bytesPart(result).map(bytes -> PART_OF_BYTES / bytes);
      case NETWORKS_10GBIT -> onOneMachine(result);
      case NETWORKS_LOSS_ONE -> Optional.of(AS_FAST_AS_STOCK);
      default -> Optional.empty();
    };
  }

  private Optional<Double> onOneMachine(BenchResult result) {
    return measured.getOrDefault(FigurePart.NETWORKS_ONE_MACHINE, List.of()).stream()
        .filter(comparison -> comparison.results().get(0).workload().equals(result.workload()))
        .flatMap(comparison -> comparison.on(result.engine()).flatMap(comparison::speedup).stream()).findFirst();
  }

  private static String links(Environment environment) {
    return Optional.ofNullable(environment.hosts()).map(Hosts::links).orElse("one host");
  }

  private static String executors(BenchResult result) {
    Hosts hosts = result.environment().hosts();
    return hosts == null ? "`" + result.environment().master() + "`"
        : hosts.workers() + " hosts on one machine with an executor of " + hosts.cores() + " core(s) each";
  }

  private static String hundredths(double value) {
    return String.format(Locale.ROOT, "%.2f", value);
  }
}
