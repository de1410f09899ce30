package io.sluice.bench.driver;

import java.time.Duration;

/**
 * CPU time of the executor processes as the operating system counts it (user and system, every thread).
 *
 * <p>Executors of a {@code local-cluster} master are children of the driver; with a {@code local} master the
 * driver is the executor. Those of a real cluster are out of sight: 0.
 */
final class ExecutorCpu {

  private final String master;

  ExecutorCpu(String master) {
    this.master = master;
  }

  /** Seconds since the processes started. */
  double seconds() {
    if (master.startsWith("local-cluster")) {
      return ProcessHandle.current().descendants().mapToDouble(ExecutorCpu::seconds).sum();
    }
    return master.startsWith("local") ? seconds(ProcessHandle.current()) : 0;
  }

  private static double seconds(ProcessHandle process) {
    return process.info().totalCpuDuration().orElse(Duration.ZERO).toNanos() / 1e9;
  }
}
