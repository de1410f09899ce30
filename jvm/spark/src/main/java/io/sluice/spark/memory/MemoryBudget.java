package io.sluice.spark.memory;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongConsumer;
import java.util.function.LongSupplier;

/**
 * How much block memory the tasks of one executor may hold together, in bytes. It only counts; the memory itself comes
 * from the arena.
 *
 * <pre>
 *   |←──────────────────────── limit ────────────────────────→|←── up to the ceiling ──→|
 *   |      shared: first come, first served   | floor | floor |  a task that is alone   |
 * </pre>
 *
 * <p>Three quarters of the limit are shared, first come, first served. The last quarter is divided into one floor per
 * core. A task can have its floor at any time, on top of what it has of the shared part; so tasks that wait while they
 * hold memory (a join reads two sides, a writer reads while it writes) do not wait for each other in a circle, as long
 * as what they need at once fits the floor.
 *
 * <p>Scratch memory is outside the arena: the buffers of encoders and decoders, which belong to threads, and the
 * indexes of runs, which tasks keep until they commit, spilled or not. While it is there, as much of the shared part is
 * not granted, up to half of that part, and of what is above the limit. Floors are granted all the same; a task that
 * waits is granted the shared part without that deduction, and a task that is alone all of the limit: spilling frees no
 * scratch memory, so tasks that waited for it would wait for each other.
 *
 * <p>A request that is larger than a floor is <em>large</em>. Only one task at a time has large requests granted: two
 * tasks that each hold one large piece and each need another would wait for each other.
 *
 * <p>A request that nothing of this serves may have all of the limit, and where the ceiling lies above the limit even
 * more, when no other task holds anything ({@link Claim#ALONE}): one row may be larger than any sensible limit. Until
 * the task has given back what it took that way, other tasks wait.
 *
 * <p>All methods may be called from any thread.
 */
public final class MemoryBudget {
  /** The wait between two checks for a killed task. */
  static final long WAIT_SLICE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
  private static final int FLOOR_SHARE = 4;

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition released = lock.newCondition();
  private final long limitBytes;
  private final long ceilingBytes;
  private final int floors;
  private final long floorBytes;
  private final long sharedBytes;
  private final LongConsumer onLargest;
  private final LongSupplier scratchBytes;

  private long usedBytes;
  private long sharedUsedBytes;
  private int floorsInUse;
  private Share large;
  private Share alone;
  private long peakBytes;

  /** What one task has taken, by the part that it was taken from. Guarded by the budget's lock. */
  final class Share {
    private long fromShared;
    private long fromFloor;
    private long fromRest;
    private long largeBytes;

    private long heldBytes() {
      return fromShared + fromFloor + fromRest;
    }
  }

  /**
   * @param limitBytes what all tasks may hold together
   * @param ceilingBytes what one task may hold when it is the only one that holds anything; at least the limit
   * @param tasks how many tasks run at once: the executor's cores
   * @param onLargest told how much may be held from now on, the limit or more, before memory beyond the limit is
   *     granted and after it was given back; called with the budget locked
   * @param scratchBytes what encoders and decoders hold now beside what tasks were granted; called with the budget
   *     locked
   */
  public MemoryBudget(
      long limitBytes, long ceilingBytes, int tasks, LongConsumer onLargest, LongSupplier scratchBytes) {
    if (limitBytes <= 0 || ceilingBytes < limitBytes || tasks <= 0) {
      throw new IllegalArgumentException(
          "limit " + limitBytes + ", ceiling " + ceilingBytes + " or tasks " + tasks + " is out of range");
    }
    this.limitBytes = limitBytes;
    this.ceilingBytes = ceilingBytes;
    this.floors = tasks;
    this.floorBytes = limitBytes / FLOOR_SHARE / tasks;
    this.sharedBytes = limitBytes - floorBytes * tasks;
    this.onLargest = onLargest;
    this.scratchBytes = scratchBytes;
  }

  /** A share for a task that holds nothing yet. */
  Share newShare() {
    return new Share();
  }

  /** Takes {@code bytes} for {@code share} if they can be had at once. */
  boolean tryReserve(Share share, long bytes, Claim claim) {
    lock.lock();
    try {
      return grant(share, bytes, claim);
    } finally {
      lock.unlock();
    }
  }

  /**
   * As {@link #tryReserve}, but waits up to {@code nanos} for others to release. One short wait is one call:
   * the caller checks for a killed task between calls.
   */
  boolean reserve(Share share, long bytes, Claim claim, long nanos) throws InterruptedException {
    lock.lockInterruptibly();
    try {
      long left = nanos;
      while (!grant(share, bytes, claim)) {
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

  private boolean grant(Share share, long bytes, Claim claim) {
    boolean isLarge = claim != Claim.RESIDENT && bytes > floorBytes;
    boolean othersFirst = alone != null && alone != share || isLarge && large != null && large != share;
    if (othersFirst || !grantWithinLimit(share, bytes, claim) && !grantAlone(share, bytes, claim)) {
      return false;
    }
    if (isLarge) {
      large = share;
      share.largeBytes += bytes;
    }
    usedBytes += bytes;
    peakBytes = Math.max(peakBytes, usedBytes);
    return true;
  }

  private boolean grantWithinLimit(Share share, long bytes, Claim claim) {
    long fromShared = Math.min(bytes, Math.max(0, sharedBytes - sharedUsedBytes - scratch(claim)));
    long fromFloor = bytes - fromShared;
    if (fromFloor > floorLeft(share, claim)) {
      return false;
    }
    if (fromFloor > 0) {
      // All from the floor where it fits, so that the rest of the shared part stays whole for others.
      fromFloor = Math.min(bytes, floorLeft(share, claim));
      fromShared = bytes - fromFloor;
      floorsInUse += share.fromFloor == 0 ? 1 : 0;
    }
    share.fromFloor += fromFloor;
    share.fromShared += fromShared;
    sharedUsedBytes += fromShared;
    return true;
  }

  /**
   * What the shared part lacks for {@code claim} because of scratch memory. A task that waits has all of the part: it
   * may hold memory that it cannot give back, so two of them would wait for each other.
   */
  private long scratch(Claim claim) {
    return claim == Claim.ALONE ? 0 : Math.min(scratchBytes.getAsLong(), sharedBytes / 2);
  }

  /**
   * What {@code share} may still take of a floor; there are as many floors as cores, even when more tasks than that
   * run.
   */
  private long floorLeft(Share share, Claim claim) {
    boolean hasFloor = share.fromFloor > 0 || floorsInUse < floors;
    long most = switch (claim) {
      case RESIDENT -> 0;
      case WRITER -> floorBytes / 2;
      case READER, ALONE -> floorBytes;
    };
    return hasFloor ? Math.max(0, most - share.fromFloor) : 0;
  }

  private boolean grantAlone(Share share, long bytes, Claim claim) {
    if (claim != Claim.ALONE || usedBytes != share.heldBytes()) {
      return false;
    }
    long most = Math.max(limitBytes, ceilingBytes - scratchBytes.getAsLong());
    if (bytes > most - usedBytes) {
      return false;
    }
    alone = share;
    share.fromRest += bytes;
    if (usedBytes + bytes > limitBytes) {
      onLargest.accept(usedBytes + bytes);
    }
    return true;
  }

  /** Gives back what was reserved: first what other tasks wait for most, the part taken alone, then the floor. */
  void release(Share share, long bytes) {
    lock.lock();
    try {
      if (bytes > share.heldBytes()) {
        throw new IllegalStateException("released " + bytes + " bytes of " + share.heldBytes() + " held");
      }
      boolean wasBeyond = usedBytes > limitBytes;
      giveBack(share, bytes);
      usedBytes -= bytes;
      if (wasBeyond) {
        onLargest.accept(Math.max(usedBytes, limitBytes));
      }
      released.signalAll();
    } finally {
      lock.unlock();
    }
  }

  private void giveBack(Share share, long bytes) {
    long rest = Math.min(bytes, share.fromRest);
    share.fromRest -= rest;
    long floor = Math.min(bytes - rest, share.fromFloor);
    share.fromFloor -= floor;
    floorsInUse -= floor > 0 && share.fromFloor == 0 ? 1 : 0;
    share.fromShared -= bytes - rest - floor;
    sharedUsedBytes -= bytes - rest - floor;
    if (share.fromRest == 0 && alone == share) {
      alone = null;
    }
    // Which of its requests a task gives back is not known: it counts as large until it holds no more than a floor.
    if (large == share && (bytes > floorBytes || share.heldBytes() <= floorBytes)) {
      share.largeBytes = share.heldBytes() <= floorBytes ? 0 : Math.max(0, share.largeBytes - bytes);
      large = share.largeBytes == 0 ? null : share;
    }
  }

  /** Whether no task but that of {@code share} holds anything. */
  boolean isAlone(Share share) {
    lock.lock();
    try {
      return usedBytes == share.heldBytes();
    } finally {
      lock.unlock();
    }
  }

  public long limitBytes() {
    return limitBytes;
  }

  /** The most that can ever be granted. */
  public long ceilingBytes() {
    return ceilingBytes;
  }

  /** What one task can always have. */
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
}
