package io.sluice.advisor.model;

/** The tasks of a stage in sums. Filled while the log is read, then read only. */
public final class TaskTotals {
  private static final TaskFigure[] FIGURES = TaskFigure.values();

  private final long[] sums = new long[FIGURES.length];
  private long tasks;
  private long failed;
  private long durationMs;
  private long longestMs;
  private long firstLaunchMs = Long.MAX_VALUE;
  private long lastFinishMs;

  void add(TaskEnd task) {
    tasks++;
    failed += task.succeeded() ? 0 : 1;
    for (TaskFigure figure : FIGURES) {
      sums[figure.ordinal()] += task.get(figure);
    }
    // A log may have a time of 0 for a task that was lost.
    if (task.launchedMs() > 0 && task.finishedMs() >= task.launchedMs()) {
      long duration = task.finishedMs() - task.launchedMs();
      durationMs += duration;
      longestMs = Math.max(longestMs, duration);
      firstLaunchMs = Math.min(firstLaunchMs, task.launchedMs());
      lastFinishMs = Math.max(lastFinishMs, task.finishedMs());
    }
  }

  /** The sum over tasks, failed ones too. */
  public long sum(TaskFigure figure) {
    return sums[figure.ordinal()];
  }

  public double cpuS() {
    return sum(TaskFigure.CPU_NS) / 1e9;
  }

  public double runS() {
    return sum(TaskFigure.RUN_MS) / 1e3;
  }

  /** Bytes read from shuffles, local and remote. */
  public long readBytes() {
    return sum(TaskFigure.LOCAL_BYTES) + sum(TaskFigure.REMOTE_BYTES);
  }

  public long readBlocks() {
    return sum(TaskFigure.LOCAL_BLOCKS) + sum(TaskFigure.REMOTE_BLOCKS);
  }

  /** Task attempts that have ended. */
  public long tasks() {
    return tasks;
  }

  /** Those of them that did not succeed. */
  public long failed() {
    return failed;
  }

  /** From launch to finish, added over tasks: with the times for sending and unpacking a task. */
  public double durationS() {
    return durationMs / 1e3;
  }

  public double longestS() {
    return longestMs / 1e3;
  }

  /** 0 without tasks. */
  public long firstLaunchMs() {
    return firstLaunchMs == Long.MAX_VALUE ? 0 : firstLaunchMs;
  }

  /** 0 without tasks. */
  public long lastFinishMs() {
    return lastFinishMs;
  }
}
