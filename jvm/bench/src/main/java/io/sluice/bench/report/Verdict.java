package io.sluice.bench.report;

import java.util.ArrayList;
import java.util.List;

/** Whether the engines' results of one workload are the same and in the right order. */
public final class Verdict {

  private Verdict() {}

  /** One sentence per fault; empty if every engine's result equals the first one's and is sorted as it must be. */
  public static List<String> faults(List<BenchResult> results) {
    List<String> faults = new ArrayList<>();
    for (BenchResult result : results) {
      BenchResult reference = results.get(0);
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
