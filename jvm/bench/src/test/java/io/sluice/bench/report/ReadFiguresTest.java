package io.sluice.bench.report;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.bench.check.Digest;
import io.sluice.bench.protocol.RunMetrics;
import io.sluice.bench.protocol.StageMetrics;
import io.sluice.bench.run.Engine;
import io.sluice.bench.run.Master;
import io.sluice.bench.run.Measurement;
import io.sluice.bench.run.Site;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Reads within jobs beside Netty and beside perftest of the same transport. */
class ReadFiguresTest {

  private static final Digest DIGEST = new Digest(10, 0xABCDL, 0x1234L, true);
  private static final long GIB = 1L << 30;
  private static final Environment ENVIRONMENT = environment(Map.of());

  @Test
  void jobsStandBesidePerftestOfTheirTransport() {
    PerftestResults perftest =
        new PerftestResults(ENVIRONMENT, List.of(perftest("cma", 10_000), perftest("tcp", 1_000)));
    String cma = ReadFigures.inJobs(results(ENVIRONMENT), perftest);
    assertTrue(cma.contains("\n|  | Netty (stock) | 1,074 |  |  |  | 0.500 s |  |\n"), cma);
    assertTrue(cma.contains("\n| cma | sluice-ucx | 4,295 | **0.43** | 0.70 | not met | 0.125 s | 0.25 |\n"), cma);
    String tcp = ReadFigures.inJobs(results(environment(Map.of("spark.executorEnv.UCX_TLS", "tcp,self"))), perftest);
    assertTrue(tcp.contains("\n| tcp | sluice-ucx | 4,295 | **4.29** | 0.70 | met | 0.125 s | 0.25 |\n"), tcp);
  }

  @Test
  void withoutPerftestThereIsNothingToReach() {
    String table = ReadFigures.inJobs(results(ENVIRONMENT), null);
    assertTrue(table.contains("\n| cma | sluice-ucx | 4,295 |  |  |  | 0.125 s | 0.25 |\n"), table);
    assertFalse(table.contains("met"), table);
  }

  private static PerftestResults.Figure perftest(String transport, double mbPerS) {
    return new PerftestResults.Figure(transport, 1 << 20, 32, null, mbPerS, 1, 0, null, null, null, null, null);
  }

  private static Environment environment(Map<String, String> conf) {
    return Environment.here(List.of("bench", "remote-read"), Site.of(Master.parse("local-cluster[2,1]", 1)), conf, 8, 0,
        null);
  }

  /** 8 GiB in 8 s by Netty and in 2 s by UCX, with 4 s and 1 s of CPU. */
  private static List<BenchResult> results(Environment environment) {
    return BenchResult.of("remote-read", "4.2.0", 10, List.of(
        new Measurement(Engine.STOCK, DIGEST, List.of(run(8, 4))),
        new Measurement(Engine.SLUICE_UCX, DIGEST, List.of(run(2, 1)))), environment);
  }

  private static RunMetrics run(double seconds, double cpuS) {
    StageMetrics stage = new StageMetrics("read", 1, seconds, cpuS, 0, seconds, 0, 0, 8 * GIB, 0);
    return new RunMetrics(seconds, 0, 8 * GIB, 10, 0, 1, 0, 0, cpuS, 0, List.of(stage), null, null);
  }
}
