package io.sluice.bench.protocol;

import java.util.List;

/**
 * What a program did on Spark, from the start of its first Spark job to the end of its last.
 *
 * @param slots how many tasks could run at once at most
 * @param failedTasks that ran besides {@code tasks}
 */
public record JobTimes(long startMs, long endMs, int slots, int failedTasks, List<TaskTime> tasks) {

  public double wallS() {
    return (endMs - startMs) / 1e3;
  }
}
