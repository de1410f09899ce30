package io.sluice.spark.concurrent;

import org.apache.spark.TaskContext;
import org.apache.spark.util.TaskCompletionListener;

/**
 * The cores that were granted to an executor and that no thread of a task occupies: pool threads may use them, and no
 * others. A core is lent for one piece of work. A task that starts meanwhile does not wait for the core: until that
 * piece is done, one thread more is at work than there are cores, for each such task. No core is lent before there are
 * fewer threads again than cores.
 *
 * <p>How many tasks run is known where the plugin is installed, of whatever kind they are. Else all task slots count as
 * occupied. All methods may be called from any thread.
 */
public final class IdleCores {
  private final int granted;
  /** Threads of tasks: those that run, or all that there can be while nothing is known. */
  private int occupied;
  private boolean tasksAreCounted;
  private int lent;

  /**
   * @param granted cores of the executor
   * @param slots tasks that can run in it at once
   */
  public IdleCores(int granted, int slots) {
    this.granted = granted;
    this.occupied = slots;
  }

  /** A task starts on this thread; it counts until it ends. */
  public void taskStarted(TaskContext context) {
    synchronized (this) {
      occupied = tasksAreCounted ? occupied + 1 : 1;
      tasksAreCounted = true;
    }
    context.addTaskCompletionListener((TaskCompletionListener) ended -> taskEnded());
  }

  private synchronized void taskEnded() {
    occupied--;
  }

  /** Whether {@link #tryBorrow} would succeed now. */
  public synchronized boolean isAny() {
    return occupied + lent < granted;
  }

  /** Takes a core if one is idle; {@link #giveBack} must follow then. */
  public synchronized boolean tryBorrow() {
    boolean any = isAny();
    lent += any ? 1 : 0;
    return any;
  }

  /** Ends a loan. */
  public synchronized void giveBack() {
    if (lent == 0) {
      throw new IllegalStateException("no core is lent");
    }
    lent--;
  }
}
