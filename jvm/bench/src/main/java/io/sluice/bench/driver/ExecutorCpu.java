package io.sluice.bench.driver;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.stream.Stream;

/**
 * CPU time of the executor processes as the operating system counts it (user and system, every thread).
 *
 * <p>Executors of a {@code local-cluster} master are children of the driver; with a {@code local} master the
 * driver is the executor. Those of a standalone master that are on this machine have the application's id among their
 * arguments; executors on other machines cannot be seen and count 0.
 */
final class ExecutorCpu {

  private final String master;
  private final String applicationId;

  ExecutorCpu(String master, String applicationId) {
    this.master = master;
    this.applicationId = applicationId;
  }

  /** Seconds since the processes started. */
  double seconds() {
    return processes().mapToDouble(ExecutorCpu::seconds).sum();
  }

  /** The executors' processes that can be seen from here. */
  Stream<ProcessHandle> processes() {
    if (master.startsWith("local-cluster")) {
      return ProcessHandle.current().descendants();
    }
    return master.startsWith("local") ? Stream.of(ProcessHandle.current())
        : ProcessHandle.allProcesses().filter(this::isExecutor);
  }

  /** Not by {@link ProcessHandle.Info#arguments}, which cuts arguments as long as a class path. */
  private boolean isExecutor(ProcessHandle process) {
    try {
      byte[] arguments = Files.readAllBytes(Path.of("/proc", Long.toString(process.pid()), "cmdline"));
      return new String(arguments, StandardCharsets.UTF_8).contains("--app-id\0" + applicationId + "\0");
    } catch (IOException e) {
      // It has ended, is another user's, or this system has no such files.
      return false;
    }
  }

  private static double seconds(ProcessHandle process) {
    return process.info().totalCpuDuration().orElse(Duration.ZERO).toNanos() / 1e9;
  }
}
