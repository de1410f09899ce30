package io.sluice.bench.driver;

import io.sluice.bench.protocol.CpuReading;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * Reads every tenth of a second how much CPU some processes have used, all their threads together: tasks, the compiler,
 * the collector, Spark's own. Processes may be added while it reads; what one had used before that does not count. All
 * methods may be called from any thread.
 */
final class ProcessCpu implements AutoCloseable {

  private static final long INTERVAL_MILLIS = 100;

  private final ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor(task -> {
    Thread thread = new Thread(task, "process-cpu");
    thread.setDaemon(true);
    return thread;
  });
  private final List<CpuReading> readings = new ArrayList<>();
  private final Map<Long, ProcessHandle> processes = new HashMap<>();
  /** Seconds since it was started, by process id, when it was last read. */
  private final Map<Long, Double> last = new HashMap<>();
  private double totalS;

  /** Begins to read; {@link #close} ends it. */
  static ProcessCpu start() {
    ProcessCpu cpu = new ProcessCpu();
    cpu.clock.scheduleWithFixedDelay(cpu::read, 0, INTERVAL_MILLIS, TimeUnit.MILLISECONDS);
    return cpu;
  }

  /** Also reads these from now on. */
  synchronized void add(Stream<ProcessHandle> more) {
    more.forEach(process -> processes.putIfAbsent(process.pid(), process));
  }

  private synchronized void read() {
    Map<Long, Double> now = new HashMap<>();
    // One that has ended has no times.
    processes.forEach((pid, process) -> process.info().totalCpuDuration()
        .ifPresent(used -> now.put(pid, used.toNanos() / 1e9)));
    record(System.currentTimeMillis(), now);
  }

  /** @param secondsByProcess since each was started */
  synchronized void record(long atMs, Map<Long, Double> secondsByProcess) {
    secondsByProcess.forEach((process, seconds) -> {
      Double before = last.put(process, seconds);
      totalS += before == null ? 0 : Math.max(0, seconds - before);
    });
    readings.add(new CpuReading(atMs, totalS));
  }

  /** So far. */
  synchronized List<CpuReading> readings() {
    return List.copyOf(readings);
  }

  @Override
  public void close() {
    clock.shutdownNow();
  }
}
