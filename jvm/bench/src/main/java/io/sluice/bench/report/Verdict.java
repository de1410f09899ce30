package io.sluice.bench.report;

import io.sluice.bench.check.Digest;
import io.sluice.bench.run.Engine;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/** Whether the engines' results of one workload are the same and in the right order. */
public final class Verdict {

  private Verdict() {}

  /**
   * One sentence per workload in which Sluice is slower than its floor permits. This is not an error, because timings
   * vary.
   */
  public static List<String> belowFloor(List<BenchResult> results) {
    return Comparison.of(results).stream().flatMap(each -> each.results().stream()).filter(BenchResult::belowFloor)
        .map(result -> String.format(Locale.ROOT, "%s: %s is %.2f times as fast as stock, below the floor of %.2f",
            result.workload(), result.engine(), result.ratioVsStock(), result.floor()))
        .toList();
  }

  /** How the engines' results of {@code workload} differ, if they do, or that one is not sorted. */
  public static Optional<String> difference(String workload, Map<Engine, Digest> digests) {
    long different = digests.values().stream().map(Digest::checksum).distinct().count();
    boolean ordered = digests.values().stream().allMatch(Digest::ordered);
    if (different <= 1 && ordered) {
      return Optional.empty();
    }
    return Optional.of(workload + ": " + (ordered ? "results differ: " : "a result is not sorted: ")
        + digests.entrySet()
            .stream().map(each -> each.getKey().label() + " " + each.getValue().checksum())
            .collect(Collectors.joining(", ")));
  }

  /**
   * One sentence per fault; empty if every engine's result equals the first one's and is sorted as it must be.
   * Engines that are wrong on purpose are left out.
   */
  public static List<String> faults(List<BenchResult> results) {
    List<String> faults = new ArrayList<>();
    List<BenchResult> faithful = results.stream().filter(result -> Engine.isFaithful(result.engine())).toList();
    for (BenchResult result : faithful) {
      BenchResult reference = faithful.get(0);
      if (!result.checksum().equals(reference.checksum())) {
        faults.add(result.workload() + ": the result of " + result.engine() + " (" + result.checksum()
            + ") differs from that of " + reference.engine() + " (" + reference.checksum() + ")");
      }
      if (!result.ordered()) {
        faults.add(result.workload() + ": the result of " + result.engine() + " is not sorted");
      }
    }
    return faults;
  }
}
