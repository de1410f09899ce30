package io.sluice.spark.memory;

import io.sluice.spark.SluiceException;
import java.util.concurrent.TimeUnit;
import org.apache.spark.TaskContext;

/**
 * A task's wait for room in the arena, after the arena has refused what the quota grants: pauses between tries, each twice as
 * long as the one before. They are pauses because nobody signals when the arena has room again: what fills it beyond the
 * quota, output and scratch of encodes, is given back by native code. Used by one thread of the task.
 */
public final class ArenaWait {
  private static final long FIRST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

  private final TaskContext context;
  private final String what;
  private final long endNanos;
  private long pauseNanos = FIRST_PAUSE_NANOS;

  ArenaWait(TaskContext context, String what, long waitNanos) {
    this.context = context;
    this.what = what;
    this.endNanos = System.nanoTime() + waitNanos;
  }

  /**
   * Pauses once; ends when the task is killed.
   *
   * @return false, at once, when {@code spark.sluice.memory.waitTimeout} is over
   */
  public boolean pause() {
    context.killTaskIfInterrupted();
    long left = endNanos - System.nanoTime();
    if (left <= 0) {
      return false;
    }
    try {
      TimeUnit.NANOSECONDS.sleep(Math.min(left, pauseNanos));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      context.killTaskIfInterrupted();
      throw new SluiceException("interrupted while waiting for memory for " + what, e);
    }
    pauseNanos = Math.min(2 * pauseNanos, MemoryBudget.WAIT_SLICE_NANOS);
    return true;
  }
}
