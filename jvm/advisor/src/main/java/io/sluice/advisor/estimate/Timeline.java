package io.sluice.advisor.estimate;

import io.sluice.advisor.model.Stage;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;

/**
 * The wall clock of an application with Sluice. At any moment the stages whose tasks run then slow down or speed up as
 * their task time does; stages that run at once are weighted by how much task time they take a second. Time in which no
 * stage runs (the driver plans, executors start) stays as it is.
 *
 * <pre>
 * stages    ──A──────      ──C──
 *               ──B────
 * moments   | | |    |  |  |    |     each of them with one factor; between B and C the factor is 1
 * </pre>
 *
 * Immutable.
 */
public final class Timeline {
  private static final double MILLIS = 1e3;

  /** Ends of the moments, ascending, and what has passed with Sluice by then, in milliseconds. */
  private final long[] times;
  private final double[] predicted;

  Timeline(List<StageEstimate> stages) {
    List<Edge> edges = new ArrayList<>(2 * stages.size());
    for (StageEstimate estimate : stages) {
      Stage stage = estimate.stage();
      long start = stage.startMs();
      long end = stage.endMs();
      if (start > 0 && end > start) {
        double weight = Math.max(1e-9, stage.totals().durationS() * MILLIS / (end - start));
        edges.add(new Edge(start, weight, weight * estimate.ratio(), 1));
        edges.add(new Edge(end, -weight, -weight * estimate.ratio(), -1));
      }
    }
    edges.sort(Comparator.comparingLong(Edge::time));
    times = new long[edges.size()];
    predicted = new double[edges.size()];
    sweep(edges);
  }

  /** The start or end of a stage: what changes in the sums over the stages that run. */
  private record Edge(long time, double weight, double weightedRatio, int stages) {}

  private void sweep(List<Edge> edges) {
    double weight = 0;
    double weightedRatio = 0;
    int running = 0;
    for (int i = 0; i < edges.size(); i++) {
      Edge edge = edges.get(i);
      if (i > 0) {
        double factor = running > 0 && weight > 0 ? Math.max(0, Math.min(1, weightedRatio / weight)) : 1;
        predicted[i] = predicted[i - 1] + factor * (edge.time() - times[i - 1]);
      }
      times[i] = edge.time();
      running += edge.stages();
      // Else what is left of sums of fractions would be the factor of a gap.
      weight = running == 0 ? 0 : weight + edge.weight();
      weightedRatio = running == 0 ? 0 : weightedRatio + edge.weightedRatio();
    }
  }

  /** Seconds that Sluice takes for what took from {@code startMs} to {@code endMs}. */
  public double seconds(long startMs, long endMs) {
    return endMs <= startMs ? 0 : (at(endMs) - at(startMs)) / MILLIS;
  }

  /** Seconds from {@code startMs} to {@code endMs} in which no stage ran. */
  public static double idleSeconds(List<StageEstimate> stages, long startMs, long endMs) {
    long[][] spans = stages.stream().map(StageEstimate::stage)
        .map(stage -> new long[] {stage.startMs(), stage.endMs()})
        .filter(span -> span[0] > 0 && span[1] > span[0]).sorted(Comparator.comparingLong(span -> span[0]))
        .toArray(long[][]::new);
    long idle = 0;
    long covered = startMs;
    for (long[] span : spans) {
      idle += Math.max(0, Math.min(span[0], endMs) - covered);
      covered = Math.max(covered, Math.min(span[1], endMs));
    }
    return Math.max(0, idle + Math.max(0, endMs - covered)) / MILLIS;
  }

  /**
   * Where the clock with Sluice stands at {@code time} of the log; before and after all stages it runs as the log's.
   */
  private double at(long time) {
    if (times.length == 0) {
      return time;
    }
    int last = times.length - 1;
    if (time <= times[0]) {
      return time - times[0];
    }
    if (time >= times[last]) {
      return predicted[last] + (time - times[last]);
    }
    int found = Arrays.binarySearch(times, time);
    if (found >= 0) {
      return predicted[found];
    }
    int after = -found - 1;
    double span = times[after] - times[after - 1];
    double part = (time - times[after - 1]) / span;
    return predicted[after - 1] + part * (predicted[after] - predicted[after - 1]);
  }
}
