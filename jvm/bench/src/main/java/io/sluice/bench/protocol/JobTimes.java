package io.sluice.bench.protocol;

import java.util.List;

/**
 * What a program did on Spark, from the start of its first Spark job to the end of its last.
 *
 * @param slots how many tasks could run at once at most
 * @param failedTasks that ran besides {@code tasks}
 * @param cpu of its processes, in the order of time; empty if it is not known
 */
public record JobTimes(long startMs, long endMs, int slots, int failedTasks, List<TaskTime> tasks,
    List<CpuReading> cpu) {

  public double wallS() {
    return (endMs - startMs) / 1e3;
  }

  /**
   * Seconds of CPU that the program's processes used between two moments: between readings as if evenly, before the
   * first and after the last none.
   */
  public double cpuS(long fromMs, long untilMs) {
    return Math.max(0, cpuUntil(untilMs) - cpuUntil(fromMs));
  }

  private double cpuUntil(long atMs) {
    CpuReading before = null;
    for (CpuReading reading : cpu) {
      if (reading.atMs() >= atMs) {
        return before == null ? reading.cpuS() : between(before, reading, atMs);
      }
      before = reading;
    }
    return before == null ? 0 : before.cpuS();
  }

  private static double between(CpuReading before, CpuReading after, long atMs) {
    double part = (double) (atMs - before.atMs()) / (after.atMs() - before.atMs());
    return before.cpuS() + part * (after.cpuS() - before.cpuS());
  }
}
