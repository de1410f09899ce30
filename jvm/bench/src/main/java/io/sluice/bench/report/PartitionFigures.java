package io.sluice.bench.report;

import io.sluice.bench.protocol.StageCosts;
import io.sluice.bench.protocol.StageMetrics;
import io.sluice.bench.run.Engine;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;

/** What a row costs with few and with many partitions, as Markdown. */
final class PartitionFigures {

  /** The numbers of partitions between which the cost may grow, and by how much; a task's memory is to be flat. */
  private static final int FROM = 200;
  private static final int TO = 10_000;
  private static final double COST_GOAL = 1.5;
  private static final double FLAT = 1.1;

  private static final double NANOS = 1e9;
  private static final double MIB = 1024.0 * 1024;
  private static final String NUMBER = "-to-";

  /** A figure of a result; empty where it was not measured. */
  private record Figure(String title, double goal, Function<BenchResult, OptionalDouble> of) {}

  private static final List<Figure> FIGURES = List.of(
      new Figure("time, ns a row", COST_GOAL, result -> perRow(result, result.medianS() * NANOS)),
      new Figure("CPU of the executors, ns a row", COST_GOAL, result -> perRow(result, result.processCpuS() * NANOS)),
      new Figure("of it the map stage, ns a row", COST_GOAL, result -> nanos(result, true, StageCosts::cpuS)),
      new Figure("encoding and writing, ns a row", COST_GOAL,
          result -> nanos(result, true, stage -> stage.encoderS() + stage.commitS())),
      new Figure("decoding, ns a row", COST_GOAL, result -> nanos(result, false, StageCosts::decoderS)),
      new Figure("shuffle bytes a row", COST_GOAL, result -> perRow(result, result.shuffleWriteBytes())),
      new Figure("peak memory of a map task, MiB", FLAT, PartitionFigures::mapTaskMiB));

  private PartitionFigures() {}

  /** The figures of every workload, number of partitions and engine; then what has grown, beside the goals. */
  static String render(List<BenchResult> results) {
    return table(results) + "\n\n" + growth(results) + "\n\n" + MarkdownFigures.setup(results);
  }

  private static String table(List<BenchResult> results) {
    List<String> header = new ArrayList<>(List.of("workload", "partitions", "engine"));
    FIGURES.forEach(figure -> header.add(figure.title()));
    List<String> lines = new ArrayList<>(List.of(MarkdownFigures.row(header.toArray(String[]::new)),
        "| --- | ---: | --- |" + " ---: |".repeat(FIGURES.size())));
    for (BenchResult result : results) {
      List<String> cells = new ArrayList<>(List.of("`" + family(result) + "`",
          String.format(Locale.ROOT, "%,d", partitions(result)), result.engine()));
      FIGURES.forEach(figure -> cells.add(text(figure.of().apply(result))));
      lines.add(MarkdownFigures.row(cells.toArray(String[]::new)));
    }
    return String.join("\n", lines);
  }

  /** Of workloads that were measured with both numbers of partitions on Sluice. */
  private static String growth(List<BenchResult> results) {
    Map<String, List<BenchResult>> families = new LinkedHashMap<>();
    results.stream().sorted(Comparator.comparing(PartitionFigures::family))
        .forEach(result -> families.computeIfAbsent(family(result), name -> new ArrayList<>()).add(result));
    List<String> lines = new ArrayList<>(List.of(
        String.format(Locale.ROOT, "| workload | figure | Sluice, %,d partitions | %,d | ratio | goal | "
            + "| stock's ratio |", FROM, TO),
        "| --- | --- | ---: | ---: | ---: | ---: | --- | ---: |"));
    families.forEach((family, all) -> {
      for (Figure figure : FIGURES) {
        OptionalDouble before = value(all, Engine.SLUICE.label(), FROM, figure);
        OptionalDouble after = value(all, Engine.SLUICE.label(), TO, figure);
        OptionalDouble ratio = ratio(before, after);
        if (ratio.isPresent()) {
          OptionalDouble stock = ratio(value(all, Engine.STOCK.label(), FROM, figure),
              value(all, Engine.STOCK.label(), TO, figure));
          lines.add(MarkdownFigures.row("`" + family + "`", figure.title(), text(before), text(after),
              "**" + hundredths(ratio) + "**", String.format(Locale.ROOT, "%.1f", figure.goal()),
              ratio.getAsDouble() <= figure.goal() ? "met" : "not met", hundredths(stock)));
        }
      }
    });
    return String.join("\n", lines);
  }

  private static OptionalDouble value(List<BenchResult> results, String engine, int partitions, Figure figure) {
    Optional<BenchResult> found = results.stream()
        .filter(result -> result.engine().equals(engine) && partitions(result) == partitions).findFirst();
    return found.isEmpty() ? OptionalDouble.empty() : figure.of().apply(found.get());
  }

  private static OptionalDouble ratio(OptionalDouble before, OptionalDouble after) {
    return before.isEmpty() || after.isEmpty() || before.getAsDouble() <= 0 ? OptionalDouble.empty()
        : OptionalDouble.of(after.getAsDouble() / before.getAsDouble());
  }

  /** The workload's name without its number of partitions. */
  private static String family(BenchResult result) {
    int number = result.workload().lastIndexOf(NUMBER);
    return number < 0 ? result.workload() : result.workload().substring(0, number);
  }

  private static int partitions(BenchResult result) {
    return result.environment().partitions();
  }

  private static OptionalDouble perRow(BenchResult result, double total) {
    return result.rows() == 0 ? OptionalDouble.empty() : OptionalDouble.of(total / result.rows());
  }

  /** Of the stages that write a shuffle, or those that only read one; empty without {@code --accounting}. */
  private static OptionalDouble nanos(BenchResult result, boolean writes, ToDoubleFunction<StageCosts> seconds) {
    if (result.costs() == null) {
      return OptionalDouble.empty();
    }
    List<StageCosts> stages =
        result.costs().stream().filter(stage -> stage.rows() > 0 && stage.writes() == writes).toList();
    return stages.isEmpty() ? OptionalDouble.empty()
        : perRow(result, NANOS * stages.stream().mapToDouble(seconds).sum());
  }

  private static OptionalDouble mapTaskMiB(BenchResult result) {
    return result.stages() == null ? OptionalDouble.empty()
        : result.stages().stream().filter(stage -> stage.shuffleWriteBytes() > 0)
            .mapToLong(StageMetrics::peakTaskMemoryBytes).mapToDouble(bytes -> bytes / MIB).max();
  }

  private static String text(OptionalDouble value) {
    return value.isEmpty() ? "" : String.format(Locale.ROOT, "%,.1f", value.getAsDouble());
  }

  private static String hundredths(OptionalDouble ratio) {
    return ratio.isEmpty() ? "" : String.format(Locale.ROOT, "%.2f", ratio.getAsDouble());
  }
}
