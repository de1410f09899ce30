package io.sluice.spark.memory;

import io.sluice.nativebridge.Arena;
import io.sluice.nativebridge.ArenaFigures;
import io.sluice.nativebridge.Lease;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAccumulator;
import java.util.concurrent.atomic.LongAdder;
import org.apache.spark.unsafe.Platform;

/**
 * Block memory of executors without the native library: each lease is one allocation outside the Java heap, by the
 * JVM's allocator. Quotas, limit and accounts are those of the native arena. Any thread.
 */
public final class JavaArena implements Arena {
  private final AtomicLong leased = new AtomicLong();
  private final LongAccumulator peak = new LongAccumulator(Math::max, 0);
  private final LongAdder refusedByLimit = new LongAdder();
  private final LongAdder refusedBySystem = new LongAdder();
  private final AtomicLong scratch = new AtomicLong();
  private volatile long limit;

  @Override
  public Lease tryTake(long bytes) {
    if (!count(bytes)) {
      refusedByLimit.increment();
      return null;
    }
    long address = 0;
    Lease lease = null;
    try {
      address = allocate(bytes);
      lease = address == 0 ? null : Lease.of(address, bytes, taken -> release(taken, bytes));
      return lease;
    } finally {
      if (lease == null) {
        refusedBySystem.increment();
        release(address, bytes);
      }
    }
  }

  /** Counts a lease if it is within the limit. */
  private boolean count(long bytes) {
    long now = leased.get();
    while (now + bytes <= limit) {
      if (leased.compareAndSet(now, now + bytes)) {
        peak.accumulate(now + bytes);
        return true;
      }
      now = leased.get();
    }
    return false;
  }

  /** Memory of the system; 0 when it has none. */
  private static long allocate(long bytes) {
    try {
      return Platform.allocateMemory(Math.max(1, bytes));
    } catch (OutOfMemoryError systemHasNone) {
      return 0;
    }
  }

  /** @param address 0 for none */
  private void release(long address, long bytes) {
    Platform.freeMemory(address);
    leased.addAndGet(-bytes);
  }

  @Override
  public void setLimit(long bytes) {
    limit = bytes;
  }

  @Override
  public long leasedBytes() {
    return leased.get();
  }

  /** What is given back is freed at once, and no block is received one-sidedly without the native library. */
  @Override
  public ArenaFigures figures() {
    long bytes = leased.get();
    return new ArenaFigures(
        bytes, peak.get(), 0, bytes, bytes, 0, 0, refusedByLimit.sum(), refusedBySystem.sum(), scratch.get());
  }

  /** The C library decides when freed memory goes back to the operating system. */
  @Override
  public long purge(boolean all) {
    return 0;
  }

  @Override
  public void addScratch(long bytes) {
    scratch.addAndGet(bytes);
  }

  @Override
  public long scratchBytes() {
    return scratch.get();
  }
}
