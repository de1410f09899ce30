package io.sluice.advisor.measured;

import io.sluice.advisor.estimate.ApplicationEstimate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Predictions beside measurements. The predicted ratio of a workload is the median over its counted runs of the run's
 * time in the log over the time predicted for it; the measured one is stock's median time over Sluice's. The error is
 * how far the prediction is from the measured ratio, as a part of the measured one.
 */
public final class ErrorTable {

  /** One workload. */
  record Line(String workload, int runs, double predicted, double measured) {
    double error() {
      return predicted / measured - 1;
    }
  }

  private final List<Line> lines;
  private final List<String> missing;

  private ErrorTable(List<Line> lines, List<String> missing) {
    this.lines = lines;
    this.missing = missing;
  }

  /** The workloads of {@code measured} that the logs have runs of. */
  public static ErrorTable of(List<ApplicationEstimate> estimates, MeasuredFile measured) {
    Map<String, List<RunsInLogs.Run>> runs = RunsInLogs.of(estimates);
    List<Line> lines = new ArrayList<>();
    List<String> missing = new ArrayList<>();
    measured.stock().forEach((workload, stock) -> {
      List<Double> sluice = measured.sluice().get(workload);
      List<RunsInLogs.Run> logged = runs.getOrDefault(workload, List.of());
      if (sluice != null && logged.size() >= stock.size()) {
        // Warm-ups come first, and so do other runs that are not counted.
        lines.add(line(workload, logged.subList(logged.size() - stock.size(), logged.size()), stock, sluice));
      } else if (sluice != null) {
        missing.add(workload);
      }
    });
    return new ErrorTable(lines, missing);
  }

  private static Line line(String workload, List<RunsInLogs.Run> runs, List<Double> stock, List<Double> sluice) {
    double predicted = median(runs.stream().filter(run -> run.afterS() > 0)
        .mapToDouble(run -> run.beforeS() / run.afterS()).toArray());
    return new Line(workload, runs.size(), predicted, median(values(stock)) / median(values(sluice)));
  }

  private static double[] values(List<Double> seconds) {
    return seconds.stream().mapToDouble(Double::doubleValue).toArray();
  }

  static double median(double... values) {
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    int middle = sorted.length / 2;
    return sorted.length == 0 ? Double.NaN
        : sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  }

  List<Line> lines() {
    return lines;
  }

  /** The middle one of the errors, whatever their sign; not a number without workloads. */
  public double medianError() {
    return median(lines.stream().mapToDouble(line -> Math.abs(line.error())).toArray());
  }

  /** The table as text, with the median of the errors below it. */
  public String render() {
    StringBuilder text = new StringBuilder(String.format(Locale.ROOT, "%-24s %5s %10s %9s %8s%n", "workload", "runs",
        "predicted", "measured", "error"));
    for (Line line : lines) {
      text.append(String.format(Locale.ROOT, "%-24s %5d %10.2f %9.2f %+7.0f %%%n", line.workload(), line.runs(),
          line.predicted(), line.measured(), 100 * line.error()));
    }
    if (!missing.isEmpty()) {
      text.append("Not enough runs in the logs: ").append(String.join(", ", missing)).append(".\n");
    }
    text.append(lines.isEmpty() ? "No workload can be compared.\n"
        : String.format(Locale.ROOT, "Median error: %.1f %% over %d workloads.%n", 100 * medianError(), lines.size()));
    return text.toString();
  }
}
