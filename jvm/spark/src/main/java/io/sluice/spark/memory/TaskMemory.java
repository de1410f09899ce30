package io.sluice.spark.memory;

import io.sluice.nativebridge.Lease;
import io.sluice.spark.SluiceException;
import io.sluice.spark.executor.ExecutorState;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import org.apache.spark.TaskContext;
import org.apache.spark.util.TaskCompletionListener;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One task's account of block memory: what its readers and its writer hold, in bytes, and the leases on it.
 *
 * <p>There is one per task attempt, whoever asks first makes it. When the task ends it frees what is left;
 * by then everybody should have given back what they took, so the rest is a leak: counted, logged, and with
 * {@code spark.sluice.memory.failOnLeak} the task's failure.
 *
 * <p><b>Threads.</b> {@link #tryLease}, {@link #lease} and {@link #tryReserve} belong to the threads that pull
 * the task's rows; the writer is asked to spill only on the task's own. {@link #free}, {@link #unreserve} and
 * {@link #detach} may come from any thread.
 */
public final class TaskMemory {
  private static final Logger LOG = LoggerFactory.getLogger(TaskMemory.class);

  private final TaskContext context;
  private final Counters counters;
  private final long waitNanos;
  private final boolean failOnLeak;
  private final Thread taskThread = Thread.currentThread();
  private final Quota quota;

  private final Set<Lease> leases = Collections.newSetFromMap(new IdentityHashMap<>());
  private final Set<Lease> residents = Collections.newSetFromMap(new IdentityHashMap<>());
  private long residentBytes;
  private long reservedBytes;
  private long heldBytes;
  private long peakBytes;
  private boolean closed;

  private Spillable spillable;
  private boolean spilling;

  private TaskMemory(TaskContext context, ExecutorState executor) {
    this.context = context;
    this.counters = executor.counters();
    this.waitNanos = executor.settings().memoryWaitNanos();
    this.failOnLeak = executor.settings().failOnLeak();
    this.quota = executor.settings().offHeapEnabled()
        ? new SparkQuota(context.taskMemoryManager(), executor.settings().offHeapBytes(), this)
        : new BudgetQuota(executor.budget());
  }

  /** The account of the task that {@code context} belongs to; called on the task's thread. */
  public static TaskMemory open(TaskContext context, ExecutorState executor) {
    TaskMemory fresh = new TaskMemory(context, executor);
    TaskMemory known = executor.rememberTask(context.taskAttemptId(), fresh);
    if (known != fresh) {
      return known;
    }
    // Listeners run last registered first, so this one sees the account after its users have closed.
    context.addTaskCompletionListener((TaskCompletionListener) done -> {
      executor.forgetTask(done.taskAttemptId());
      fresh.close();
    });
    return fresh;
  }

  /** Whom to ask for memory when the quota or the arena refuses: the task's writer; null when it has ended. */
  public void setSpillable(Spillable spillable) {
    this.spillable = spillable;
  }

  /** A lease of {@code bytes}, or null when neither quota and arena nor the task's own spilling can provide it. */
  public Lease tryLease(long bytes) {
    return tryReserve(bytes) ? leaseOrSpill(bytes) : null;
  }

  /**
   * A lease of {@code bytes} for data that the task keeps for long; null when there is none at once, or the task would
   * keep more than {@code mostBytes} that way. Others are asked for nothing. It does not count against what the task can
   * always have for data that comes and goes ({@link MemoryBudget}), so keeping it cannot make tasks wait for each other.
   */
  public Lease tryLeaseResident(long bytes, long mostBytes) {
    try {
      if (residentBytes() + bytes > mostBytes || !quota.take(bytes, Long.MAX_VALUE, 0)) {
        return null;
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return null;
    }
    addReserved(bytes);
    Lease lease = leaseReserved(bytes);
    if (lease != null) {
      synchronized (this) {
        residents.add(lease);
        residentBytes += bytes;
      }
    }
    return lease;
  }

  private synchronized long residentBytes() {
    return residentBytes;
  }

  /**
   * A lease of {@code bytes}; waits for other tasks when it must, and ends when the task is killed.
   *
   * @param what what the memory is for, for the error
   * @throws SluiceException when {@code spark.sluice.memory.waitTimeout} passes without success
   */
  public Lease lease(long bytes, String what) {
    failIfNeverGranted(bytes, what);
    Lease lease = tryLease(bytes);
    return lease != null ? lease : waitForLease(bytes, what);
  }

  /**
   * Fails at once when a task can never have {@code bytes}.
   *
   * @throws SluiceException with the setting to change
   */
  public void failIfNeverGranted(long bytes, String what) {
    if (bytes > quota.limitBytes()) {
      throw new SluiceException(what + " needs " + bytes + " bytes of memory at once, more than "
          + quota.limitSetting() + " = " + quota.limitBytes() + " bytes: raise it");
    }
  }

  /** Begins a wait for what the arena, not the quota, has refused; counted. */
  public ArenaWait waitForArena(String what) {
    counters.increment(Counter.MEMORY_WAITS);
    return new ArenaWait(context, what, waitNanos);
  }

  private Lease waitForLease(long bytes, String what) {
    counters.increment(Counter.MEMORY_WAITS);
    long start = System.nanoTime();
    ArenaWait arena = new ArenaWait(context, what, waitNanos);
    try {
      long left = waitNanos;
      while (left > 0) {
        context.killTaskIfInterrupted();
        if (reserve(bytes, Math.min(left, MemoryBudget.WAIT_SLICE_NANOS))) {
          Lease lease = leaseOrSpill(bytes);
          if (lease != null) {
            return lease;
          }
          arena.pause();
        }
        left = waitNanos - (System.nanoTime() - start);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      context.killTaskIfInterrupted();
      throw new SluiceException("interrupted while waiting for " + bytes + " bytes for " + what, e);
    } finally {
      counters.add(Counter.MEMORY_WAIT_NANOS, System.nanoTime() - start);
    }
    counters.increment(Counter.MEMORY_TIMEOUTS);
    throw new SluiceException("no memory for " + what + " within spark.sluice.memory.waitTimeout = "
        + waitNanos / 1_000_000 + " ms: wanted " + bytes + " bytes, the task holds " + heldBytes()
        + ", the limit of the executor is " + quota.limitSetting() + " = " + quota.limitBytes()
        + ": raise the limit, or run fewer tasks at once");
  }

  /** A lease for quota that was taken; when the arena refuses it, the task spills and both are asked once more. */
  private Lease leaseOrSpill(long bytes) {
    Lease lease = leaseReserved(bytes);
    if (lease != null || !spillOwn(bytes) || !tryReserve(bytes)) {
      return lease;
    }
    return leaseReserved(bytes);
  }

  /** A lease for quota that was taken; the quota is given back when the arena refuses. */
  private Lease leaseReserved(long bytes) {
    Lease lease = Lease.tryTake(bytes);
    if (lease == null) {
      counters.increment(Counter.MEMORY_REFUSALS);
      unreserve(bytes);
      return null;
    }
    synchronized (this) {
      reservedBytes -= bytes;
      leases.add(lease);
    }
    return lease;
  }

  /** Takes quota only, for memory that native code leases itself; spills the task's own runs if it must. */
  public boolean tryReserve(long bytes) {
    try {
      if (reserve(bytes, 0)) {
        return true;
      }
      counters.increment(Counter.MEMORY_REFUSALS);
      return spillOwn(bytes) && reserve(bytes, 0);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  private boolean reserve(long bytes, long nanos) throws InterruptedException {
    if (!quota.take(bytes, heldBytes() - residentBytes(), nanos)) {
      return false;
    }
    addReserved(bytes);
    return true;
  }

  /** Accounts for quota that was taken. */
  private void addReserved(long bytes) {
    synchronized (this) {
      if (!closed) {
        reservedBytes += bytes;
        heldBytes += bytes;
        peakBytes = Math.max(peakBytes, heldBytes);
        return;
      }
    }
    quota.give(bytes);
    throw new SluiceException("task attempt " + context.taskAttemptId() + " has ended and wants memory");
  }

  /** Gives back quota of {@link #tryReserve}. */
  public void unreserve(long bytes) {
    synchronized (this) {
      if (bytes > reservedBytes) {
        throw new IllegalStateException("gave back " + bytes + " bytes of " + reservedBytes + " reserved");
      }
      reservedBytes -= bytes;
      heldBytes -= bytes;
    }
    quota.give(bytes);
  }

  /** Frees a lease and its quota; a lease that was detached is only freed. */
  public void free(Lease lease) {
    detach(lease);
    lease.close();
  }

  /** Frees a lease but keeps its quota as a reservation: for memory that takes the lease's place. */
  public void freeKeepingQuota(Lease lease) {
    synchronized (this) {
      if (!leases.remove(lease)) {
        throw new IllegalStateException("not a lease of this task");
      }
      reservedBytes += lease.bytes();
    }
    lease.close();
  }

  /**
   * Takes a lease out of the account without freeing it: it now belongs to the caller alone, who frees it at
   * any later time, even after the task has ended. For memory that other threads still read.
   */
  public void detach(Lease lease) {
    boolean mine;
    synchronized (this) {
      mine = leases.remove(lease);
      heldBytes -= mine ? lease.bytes() : 0;
      residentBytes -= residents.remove(lease) ? lease.bytes() : 0;
    }
    if (mine) {
      quota.give(lease.bytes());
    }
  }

  /** Asks the task's spillable for memory: how much it gave back. 0 from another thread than the task's. */
  long spillFor(long bytes) throws IOException {
    if (Thread.currentThread() != taskThread || spillable == null || spilling) {
      return 0;
    }
    spilling = true;
    try {
      return spillable.spill(bytes);
    } finally {
      spilling = false;
    }
  }

  /** Whether the task's spillable gave anything back for the task's own needs. */
  private boolean spillOwn(long bytes) {
    try {
      return spillFor(bytes) > 0;
    } catch (IOException e) {
      throw new UncheckedIOException("spilling to make room for " + bytes + " bytes", e);
    }
  }

  /** Bytes that the task holds now, leases and reservations. */
  public synchronized long heldBytes() {
    return heldBytes;
  }

  /** The most it ever held. */
  public synchronized long peakBytes() {
    return peakBytes;
  }

  private void close() {
    List<Lease> left;
    long bytes;
    long reserved;
    synchronized (this) {
      closed = true;
      left = new ArrayList<>(leases);
      bytes = heldBytes;
      reserved = reservedBytes;
    }
    left.forEach(this::free);
    unreserve(reserved);
    if (bytes > 0) {
      reportLeak(left.size(), bytes);
    }
  }

  private void reportLeak(int count, long bytes) {
    counters.add(Counter.MEMORY_LEAKED_LEASES, count);
    counters.add(Counter.MEMORY_LEAKED_BYTES, bytes);
    String message = "task attempt " + context.taskAttemptId() + " of stage " + context.stageId() + " ended with "
        + count + " leases open, " + bytes + " bytes held";
    if (failOnLeak) {
      throw new SluiceException(message);
    }
    LOG.warn("{}; they were freed", message);
  }
}
