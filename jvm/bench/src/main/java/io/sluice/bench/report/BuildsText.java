package io.sluice.bench.report;

import io.sluice.bench.run.Engine;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.ToDoubleFunction;
import java.util.stream.IntStream;

/** Two builds of Sluice beside each other, as {@code ./sluice bench --old-jar} prints them. */
public final class BuildsText {

  private static final String OLD = Engine.SLUICE_OLD.label();
  private static final String NEW = Engine.SLUICE.label();

  private BuildsText() {}

  /** A line per workload that both builds ran, and the geometric mean; empty if there is no such workload. */
  public static Optional<String> render(List<Comparison> comparisons) {
    List<Comparison> both = comparisons.stream()
        .filter(each -> each.on(OLD).isPresent() && each.on(NEW).isPresent()).toList();
    if (both.isEmpty()) {
      return Optional.empty();
    }
    TextTable table = new TextTable(1, "workload", "old s", "new s", "old/new", "pairs", "old cpu s", "new cpu s",
        "old/new", "old MB", "new MB", "equal");
    both.forEach(each -> row(table, each));
    return Optional.of("The older build against this one. Above 1 is better now; 'pairs' is the median of the ratios "
        + "of neighbouring runs,\nCPU is that of the executor processes.\n" + table.render() + "\nGeometric mean: time "
        + mean(both, BenchResult::medianS) + ", CPU " + mean(both, BenchResult::processCpuS) + ".");
  }

  private static void row(TextTable table, Comparison comparison) {
    BenchResult old = comparison.on(OLD).orElseThrow();
    BenchResult now = comparison.on(NEW).orElseThrow();
    table.row(comparison.label(), figure(old.medianS()), figure(now.medianS()), ratio(old.medianS(), now.medianS()),
        figure(medianOfPairs(old, now)), figure(old.processCpuS()), figure(now.processCpuS()),
        ratio(old.processCpuS(), now.processCpuS()), megabytes(old), megabytes(now),
        old.checksum().equals(now.checksum()) ? "yes" : "NO");
  }

  /** Runs of the same round are neighbours, so they meet the same load of the machine. */
  private static double medianOfPairs(BenchResult old, BenchResult now) {
    int pairs = Math.min(old.runsS().size(), now.runsS().size());
    List<Integer> rounds = IntStream.range(0, pairs).boxed().toList();
    return Statistics.of(rounds, round -> old.runsS().get(round) / now.runsS().get(round)).median();
  }

  private static String mean(List<Comparison> both, ToDoubleFunction<BenchResult> value) {
    double[] ratios = both.stream()
        .mapToDouble(each -> value.applyAsDouble(each.on(OLD).orElseThrow())
            / value.applyAsDouble(each.on(NEW).orElseThrow()))
        .filter(ratio -> ratio > 0 && Double.isFinite(ratio)).toArray();
    return ratios.length == 0 ? "-" : figure(Statistics.geometricMean(ratios));
  }

  /**
   * The ratio of two CPU times or durations; none if the second is 0, as the measured CPU time of a short query may be.
   */
  private static String ratio(double old, double now) {
    return now > 0 ? figure(old / now) : "-";
  }

  private static String figure(double value) {
    return String.format(Locale.ROOT, "%.2f", value);
  }

  private static String megabytes(BenchResult result) {
    return String.format(Locale.ROOT, "%.1f", result.shuffleWriteBytes() / 1e6);
  }
}
