package io.sluice.spark.memory;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * How much block memory the tasks of one executor may hold together, in bytes. It only counts; the memory
 * itself comes from the arena.
 *
 * <p>Three quarters of the limit are first come, first served. The last quarter is divided into one floor per
 * core: a task that holds less than its floor always gets what fits under it, however greedy the others are.
 * So a task that waits while holding memory (a join reads two sides, a writer reads while it writes) cannot
 * be in a circle of tasks that wait for each other, as long as its needs fit under the floor, and all tasks
 * together stay under the limit.
 *
 * <p>All methods may be called from any thread.
 */
public final class MemoryBudget {
  private static final int FLOOR_SHARE = 4;

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition released = lock.newCondition();
  private final long limitBytes;
  private final long sharedBytes;
  private final long floorBytes;
  private long usedBytes;
  private long peakBytes;

  /**
   * @param limitBytes what all tasks may hold together
   * @param tasks how many tasks run at once: the executor's cores
   */
  public MemoryBudget(long limitBytes, int tasks) {
    if (limitBytes <= 0 || tasks <= 0) {
      throw new IllegalArgumentException("limit " + limitBytes + " and tasks " + tasks + " must be positive");
    }
    this.limitBytes = limitBytes;
    this.floorBytes = limitBytes / FLOOR_SHARE / tasks;
    this.sharedBytes = limitBytes - floorBytes * tasks;
  }

  /**
   * Takes {@code bytes} if they can be had at once.
   *
   * @param heldByTask what the asking task holds already; decides whether its floor applies
   */
  public boolean tryReserve(long bytes, long heldByTask) {
    lock.lock();
    try {
      return reserveLocked(bytes, heldByTask);
    } finally {
      lock.unlock();
    }
  }

  /**
   * As {@link #tryReserve}, but waits up to {@code nanos} for others to release. One short wait is one call:
   * the caller checks for a killed task between calls.
   */
  public boolean reserve(long bytes, long heldByTask, long nanos) throws InterruptedException {
    lock.lockInterruptibly();
    try {
      long left = nanos;
      while (!reserveLocked(bytes, heldByTask)) {
        if (left <= 0) {
          return false;
        }
        left = released.awaitNanos(left);
      }
      return true;
    } finally {
      lock.unlock();
    }
  }

  private boolean reserveLocked(long bytes, long heldByTask) {
    boolean fits = bytes <= sharedBytes - usedBytes || bytes <= floorBytes - heldByTask;
    if (fits) {
      usedBytes += bytes;
      peakBytes = Math.max(peakBytes, usedBytes);
    }
    return fits;
  }

  /** Gives back what was reserved. */
  public void release(long bytes) {
    lock.lock();
    try {
      if (bytes > usedBytes) {
        throw new IllegalStateException("released " + bytes + " bytes of " + usedBytes + " in use");
      }
      usedBytes -= bytes;
      released.signalAll();
    } finally {
      lock.unlock();
    }
  }

  public long limitBytes() {
    return limitBytes;
  }

  /** What one task can always hold. */
  public long floorBytes() {
    return floorBytes;
  }

  public long usedBytes() {
    lock.lock();
    try {
      return usedBytes;
    } finally {
      lock.unlock();
    }
  }

  /** The most that was ever in use. */
  public long peakBytes() {
    lock.lock();
    try {
      return peakBytes;
    } finally {
      lock.unlock();
    }
  }

  /** The wait between two checks for a killed task. */
  static final long WAIT_SLICE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
}
