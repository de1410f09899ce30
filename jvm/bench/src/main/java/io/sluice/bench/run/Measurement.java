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
 */
public record Measurement(Engine engine, Digest digest, List<RunMetrics> runs) {}
