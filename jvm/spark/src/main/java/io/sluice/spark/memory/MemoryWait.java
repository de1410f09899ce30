package io.sluice.spark.memory;

import io.sluice.spark.SluiceException;
import java.util.concurrent.TimeUnit;
import org.apache.spark.TaskContext;

/**
 * One wait of a task for memory: ends when the task is killed or {@code spark.sluice.memory.waitTimeout} is over.
 *
 * <p>While the arena refuses what the quota grants, the wait is a pause between two tries, each twice as long as the
 * one before: nothing signals that the arena has room again, because native code frees the output and scratch memory of
 * encodes. Used by one thread.
 */
public final class MemoryWait {
  private static final long FIRST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

  private final TaskContext context;
  private final String what;
  private final long endNanos;
  private long pauseNanos = FIRST_PAUSE_NANOS;

  MemoryWait(TaskContext context, String what, long waitNanos) {
    this.context = context;
    this.what = what;
    this.endNanos = System.nanoTime() + waitNanos;
  }

  /** How long the next wait may take, a moment at most; 0 or less when time is over. Ends a killed task. */
  long nextSliceNanos() {
    context.killTaskIfInterrupted();
    return Math.min(endNanos - System.nanoTime(), MemoryBudget.WAIT_SLICE_NANOS);
  }

  /**
   * Pauses once; ends when the task is killed.
   *
   * @return false, at once, when {@code spark.sluice.memory.waitTimeout} is over
   */
  public boolean pause() {
    long left = nextSliceNanos();
    if (left <= 0) {
      return false;
    }
    try {
      TimeUnit.NANOSECONDS.sleep(Math.min(left, pauseNanos));
    } catch (InterruptedException e) {
      throw interrupted(e);
    }
    pauseNanos = Math.min(2 * pauseNanos, MemoryBudget.WAIT_SLICE_NANOS);
    return true;
  }

  /** What to throw when the waiting thread was interrupted; ends a killed task. */
  SluiceException interrupted(InterruptedException e) {
    Thread.currentThread().interrupt();
    context.killTaskIfInterrupted();
    return new SluiceException("interrupted while waiting for memory for " + what, e);
  }
}
