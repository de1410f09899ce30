package io.sluice.bench.run;

import io.sluice.bench.check.Digest;
import io.sluice.bench.protocol.RunMetrics;
import java.util.List;

/**
 * What one engine gave for one workload.
 *
 * @param engine which engine
 * @param digest of its result
 * @param runs its counted runs, in order
 * @param startsS seconds until the application of every run was up; empty where all runs share one
 */
public record Measurement(Engine engine, Digest digest, List<RunMetrics> runs, List<Double> startsS) {

  /** One whose runs share an application. */
  public Measurement(Engine engine, Digest digest, List<RunMetrics> runs) {
    this(engine, digest, runs, List.of());
  }
}
