package io.sluice.spark.events;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;

/**
 * Of a stage's tasks those that took longest, so that what is kept of a stage does not grow with its tasks. Of tasks
 * that took equally long those with the lower numbers stay: who adds the same tasks keeps the same ones. One thread.
 *
 * @param <T> what is kept of a task
 */
public final class LongestTasks<T> {
  /** As many as fit a page. */
  public static final int MOST = 100;

  private final PriorityQueue<Kept<T>> kept = new PriorityQueue<>(
      Comparator.comparingLong((Kept<T> each) -> each.millis()).thenComparing(
          Comparator.comparingLong((Kept<T> each) -> each.taskId()).reversed()));

  private record Kept<T>(long millis, long taskId, T what) {}

  /** Adds a task, which may push out one that was shorter. */
  public void add(long millis, long taskId, T what) {
    kept.add(new Kept<>(millis, taskId, what));
    if (kept.size() > MOST) {
      kept.poll();
    }
  }

  /** By ascending number of the task. */
  public List<T> tasks() {
    List<Kept<T>> sorted = new ArrayList<>(kept);
    sorted.sort(Comparator.comparingLong(Kept::taskId));
    List<T> tasks = new ArrayList<>();
    sorted.forEach(each -> tasks.add(each.what()));
    return tasks;
  }
}
