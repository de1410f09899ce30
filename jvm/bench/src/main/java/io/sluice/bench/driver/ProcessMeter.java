package io.sluice.bench.driver;

import io.sluice.bench.protocol.ProcessCosts;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * What some processes take while a workload runs. It is Linux that tells, below {@code /proc}; elsewhere and for
 * processes that have ended, figures are 0. Used by one thread.
 */
final class ProcessMeter implements AutoCloseable {

  private static final long INTERVAL_MS = 200;
  private static final long KIB = 1024;

  private final Path proc;
  private final List<ProcessHandle> servers;
  private final List<ProcessHandle> all;
  private final ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor(task -> {
    Thread thread = new Thread(task, "process-meter");
    thread.setDaemon(true);
    return thread;
  });
  private final double cpuS;
  private final double serversCpuS;
  private final long writtenBytes;
  private final Optional<Long> loopbackBytes;
  private long peakRssBytes;

  private ProcessMeter(Path proc, List<ProcessHandle> others, List<ProcessHandle> servers) {
    this.proc = proc;
    this.servers = servers;
    this.all = Stream.concat(others.stream(), servers.stream()).distinct().toList();
    this.cpuS = cpuS(all);
    this.serversCpuS = cpuS(servers);
    this.writtenBytes = writtenBytes();
    this.loopbackBytes = loopbackBytes(proc);
  }

  /** Begins to measure {@code others} and {@code servers}; {@link #close} ends it. */
  static ProcessMeter start(Path proc, List<ProcessHandle> others, List<ProcessHandle> servers) {
    ProcessMeter meter = new ProcessMeter(proc, others, servers);
    meter.clock.scheduleWithFixedDelay(meter::readMemory, 0, INTERVAL_MS, TimeUnit.MILLISECONDS);
    return meter;
  }

  /** Since the start. */
  ProcessCosts costs() {
    readMemory();
    return new ProcessCosts(cpuS(all) - cpuS, cpuS(servers) - serversCpuS, peak(), writtenBytes() - writtenBytes,
        loopbackBytes.flatMap(before -> loopbackBytes(proc).map(now -> now - before)).orElse(null));
  }

  private synchronized void readMemory() {
    peakRssBytes = Math.max(peakRssBytes, all.stream().mapToLong(process -> rssBytes(proc, process.pid())).sum());
  }

  private synchronized long peak() {
    return peakRssBytes;
  }

  private static double cpuS(List<ProcessHandle> processes) {
    return processes.stream()
        .mapToDouble(process -> process.info().totalCpuDuration().orElse(Duration.ZERO).toNanos() / 1e9).sum();
  }

  private long writtenBytes() {
    return all.stream().mapToLong(process -> writtenBytes(proc, process.pid())).sum();
  }

  /** Memory of the process, whose pages may be shared with others. */
  static long rssBytes(Path proc, long pid) {
    return KIB * figure(proc.resolve(Long.toString(pid)).resolve("status"), "VmRSS:");
  }

  /** What the process has written to file systems that have a disk; what is still in their caches counts, too. */
  static long writtenBytes(Path proc, long pid) {
    return figure(proc.resolve(Long.toString(pid)).resolve("io"), "write_bytes:");
  }

  /** The number behind {@code name} at the beginning of a line of {@code file}; 0 if there is none. */
  private static long figure(Path file, String name) {
    return text(file).stream().flatMap(String::lines).filter(line -> line.startsWith(name))
        .mapToLong(line -> Long.parseLong(line.substring(name.length()).strip().split("\\s+")[0])).findFirst()
        .orElse(0);
  }

  /** What the loopback interface of this network namespace has received; it sends as much. */
  static Optional<Long> loopbackBytes(Path proc) {
    return text(proc.resolve("net/dev")).stream().flatMap(String::lines).map(String::strip)
        .filter(line -> line.startsWith("lo:")).findFirst()
        .map(line -> Long.parseLong(line.substring("lo:".length()).strip().split("\\s+")[0]));
  }

  private static Optional<String> text(Path file) {
    try {
      return Optional.of(Files.readString(file));
    } catch (IOException e) {
      return Optional.empty();
    }
  }

  @Override
  public void close() {
    clock.shutdownNow();
  }
}
