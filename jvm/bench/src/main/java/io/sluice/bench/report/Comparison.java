package io.sluice.bench.report;

import io.sluice.bench.run.Engine;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * The engines' results of one workload from one benchmark: what may be compared.
 *
 * @param label the workload, with what tells it from others of the same name
 * @param results one per engine, the reference first
 */
public record Comparison(String label, List<BenchResult> results) {

  private static final String STOCK = Engine.STOCK.label();

  /** {@code results} grouped by workload and benchmark, in their order, with labels that differ. */
  public static List<Comparison> of(List<BenchResult> results) {
    Map<List<Object>, List<BenchResult>> groups = new LinkedHashMap<>();
    for (BenchResult result : results) {
      groups.computeIfAbsent(List.of(result.workload(), result.spark(), result.rows(), result.environment().started(),
          result.environment().command()), key -> new ArrayList<>()).add(result);
    }
    return labelled(groups.values().stream().map(Comparison::counting).toList());
  }

  /** Of a workload that was measured again, the last measurement. */
  private static List<BenchResult> counting(List<BenchResult> results) {
    List<BenchResult> again = results.stream().filter(result -> result.firstRatio() != null).toList();
    return again.isEmpty() ? results : again;
  }

  private static List<Comparison> labelled(List<List<BenchResult>> groups) {
    List<Function<BenchResult, String>> details = List.of(
        result -> "",
        result -> ", Spark " + result.spark(),
        result -> ", " + result.environment().started());
    List<String> labels = new ArrayList<>(groups.stream().map(group -> group.get(0).workload()).toList());
    for (Function<BenchResult, String> detail : details) {
      Map<String, Long> uses = labels.stream()
          .collect(Collectors.groupingBy(Function.identity(), Collectors.counting()));
      for (int i = 0; i < labels.size(); i++) {
        if (uses.get(labels.get(i)) > 1) {
          labels.set(i, labels.get(i) + detail.apply(groups.get(i).get(0)));
        }
      }
    }
    List<Comparison> comparisons = new ArrayList<>();
    for (int i = 0; i < groups.size(); i++) {
      comparisons.add(new Comparison(labels.get(i), List.copyOf(groups.get(i))));
    }
    return comparisons;
  }

  /** The result on Spark's own shuffle, if there is one. */
  public Optional<BenchResult> stock() {
    return results.stream().filter(result -> result.engine().equals(STOCK)).findFirst();
  }

  /** The result of {@code engine}, if there is one. */
  public Optional<BenchResult> on(String engine) {
    return results.stream().filter(result -> result.engine().equals(engine)).findFirst();
  }

  /** How many times as fast as stock {@code result} is; empty for stock itself and without stock. */
  public Optional<Double> speedup(BenchResult result) {
    return result.engine().equals(STOCK) ? Optional.empty()
        : stock().map(reference -> reference.medianS() / result.medianS());
  }

  /** The part of the CPU time of stock's executor processes; empty as above, and where stock's is unknown. */
  public Optional<Double> processCpuPart(BenchResult result) {
    return result.engine().equals(STOCK) ? Optional.empty()
        : stock().filter(reference -> reference.processCpuS() > 0)
            .map(reference -> result.processCpuS() / reference.processCpuS());
  }

  /** The part of stock's shuffle bytes that {@code result} wrote; empty as above, and where stock wrote none. */
  public Optional<Double> bytesPart(BenchResult result) {
    return result.engine().equals(STOCK) ? Optional.empty()
        : stock().filter(reference -> reference.shuffleWriteBytes() > 0)
            .map(reference -> (double) result.shuffleWriteBytes() / reference.shuffleWriteBytes());
  }
}
