package io.sluice.spark.memory;

import io.sluice.nativebridge.Arena;
import io.sluice.nativebridge.Lease;
import io.sluice.spark.SluiceException;
import io.sluice.spark.conf.MemorySettings;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import java.util.concurrent.TimeUnit;
import org.apache.spark.TaskContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Block memory for one task: takes quota and then arena memory for its readers and its writer, in the order: at once,
 * after the task's own writer has spilled, after a wait for other tasks. {@link ExecutorMemory} makes one per task
 * attempt.
 *
 * <p>All methods may be called from any thread. The writer is asked to spill only on the thread that called
 * {@link #setSpillable}; a request from another thread waits for other tasks instead.
 */
public final class TaskMemory {
  private static final Logger LOG = LoggerFactory.getLogger(TaskMemory.class);
  /** How long a task that holds all the memory itself waits for other threads of its own to give some back. */
  private static final long OWN_THREADS_NANOS = TimeUnit.SECONDS.toNanos(2);
  private static final long FILE_BYTES_PER_SECOND = 200 << 20;

  private final TaskContext context;
  private final Arena arena;
  private final Counters counters;
  private final MemorySettings settings;
  private final TaskAccount account = new TaskAccount();
  private final TaskSpiller spiller = new TaskSpiller();
  private final Quota quota;

  /** @param budget not used with Spark's off-heap memory */
  TaskMemory(TaskContext context, Arena arena, MemorySettings settings, MemoryBudget budget, Counters counters) {
    this.context = context;
    this.arena = arena;
    this.counters = counters;
    this.settings = settings;
    this.quota = settings.offHeapEnabled()
        ? new SparkQuota(context.taskMemoryManager(), settings.offHeapBytes(), spiller)
        : new BudgetQuota(budget, budget.newShare());
  }

  /**
   * Sets what is asked to spill when the quota or the arena refuses a request: the task's writer, which calls this on
   * the thread that writes; null when the writer has ended.
   */
  public void setSpillable(Spillable spillable) {
    spiller.register(spillable);
  }

  /** A lease of {@code bytes}, or null when neither quota and arena nor the task's own spilling can provide it. */
  public Lease tryLease(long bytes) {
    return tryLeaseOrSpill(bytes, 0, Claim.READER);
  }

  /**
   * A lease of {@code bytes} for rows of the writer, and {@code encodeBytes} of quota that encoding them will need; or
   * null when there is none even after the writer has spilled. {@link #unreserve} gives the quota back.
   */
  public Lease tryLeaseForRows(long bytes, long encodeBytes) {
    return tryLeaseOrSpill(bytes, encodeBytes, Claim.WRITER);
  }

  /**
   * A lease of {@code bytes} for data that the task keeps for long; null when there is none at once, or the task
   * would keep more than {@code mostBytes} that way. Nothing is spilled for it, and it leaves the floors of {@link
   * MemoryBudget} alone, so that keeping it cannot make tasks wait for each other.
   */
  public Lease tryLeaseResident(long bytes, long mostBytes) {
    if (account.residentBytes() + bytes > mostBytes || !reserve(bytes, Claim.RESIDENT)) {
      return null;
    }
    Lease lease = takeFromArena(bytes, 0);
    if (lease != null) {
      account.addResident(lease);
    }
    return lease;
  }

  /**
   * A lease of {@code bytes}; waits for other tasks when it must, and ends when the task is killed.
   *
   * @param what what the memory is for, for the error
   * @throws SluiceException at once when it can never be granted, else when {@code spark.sluice.memory.waitTimeout}
   *     passes without success
   */
  public Lease lease(long bytes, String what) {
    failIfNeverGranted(bytes, what);
    Lease lease = tryLease(bytes);
    return lease != null ? lease : waitForLease(bytes, 0, what);
  }

  /** As {@link #tryLeaseForRows}, but waits as {@link #lease} does. */
  public Lease leaseForRows(long bytes, long encodeBytes, String what) {
    failIfNeverGranted(bytes + encodeBytes, what);
    Lease lease = tryLeaseForRows(bytes, encodeBytes);
    return lease != null ? lease : waitForLease(bytes, encodeBytes, what);
  }

  /**
   * As {@link #tryLeaseForRows}, for a page that one long row fills; waits for other tasks, about as long as it takes
   * to write the row to a file. Null when it does not get so much in that time, or waiting will not help.
   */
  public Lease leaseForLongRow(long bytes, long encodeBytes) {
    if (bytes + encodeBytes > quota.mostBytes()) {
      return null;
    }
    Lease lease = tryLeaseForRows(bytes, encodeBytes);
    long waitNanos = TimeUnit.SECONDS.toNanos(1) * bytes / FILE_BYTES_PER_SECOND;
    return lease != null ? lease
        : waitForLease(bytes, encodeBytes, new MemoryWait(context, "a long row", waitNanos), 0);
  }

  /**
   * Takes quota only, for memory that native code leases itself; spills the task's own runs if it must. It leaves alone
   * what this and other tasks are entitled to, because what is counted so is made in any case.
   */
  public boolean tryReserve(long bytes) {
    if (reserve(bytes, Claim.RESIDENT)) {
      return true;
    }
    counters.increment(Counter.MEMORY_REFUSALS);
    return spiller.makeRoom(bytes) && reserve(bytes, Claim.RESIDENT);
  }

  /** Takes more quota for rows of the writer that are about to be encoded, if there is some at once. */
  public boolean tryReserveForRows(long bytes) {
    return reserve(bytes, Claim.WRITER);
  }

  private Lease tryLeaseOrSpill(long bytes, long encodeBytes, Claim claim) {
    long total = bytes + encodeBytes;
    if (reserve(total, claim)) {
      return leaseReservedOrSpill(bytes, encodeBytes, claim);
    }
    counters.increment(Counter.MEMORY_REFUSALS);
    return spiller.makeRoom(total) && reserve(total, claim) ? leaseReserved(bytes, encodeBytes) : null;
  }

  /** A lease for quota that was taken; when the arena refuses it, the task spills and both are asked once more. */
  private Lease leaseReservedOrSpill(long bytes, long encodeBytes, Claim claim) {
    Lease lease = leaseReserved(bytes, encodeBytes);
    if (lease == null && spiller.makeRoom(bytes) && reserve(bytes + encodeBytes, claim)) {
      return leaseReserved(bytes, encodeBytes);
    }
    return lease;
  }

  private Lease leaseReserved(long bytes, long encodeBytes) {
    Lease lease = takeFromArena(bytes, encodeBytes);
    if (lease != null) {
      account.addLease(lease);
    }
    return lease;
  }

  /** Arena memory for quota that was taken; all of the quota is given back when the arena refuses. */
  private Lease takeFromArena(long bytes, long encodeBytes) {
    Lease lease = arena.tryTake(bytes);
    if (lease == null) {
      counters.increment(Counter.MEMORY_REFUSALS);
      unreserve(bytes + encodeBytes);
    }
    return lease;
  }

  private boolean reserve(long bytes, Claim claim) {
    try {
      return reserve(bytes, claim, 0);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  private boolean reserve(long bytes, Claim claim, long nanos) throws InterruptedException {
    if (!quota.take(bytes, claim, nanos)) {
      return false;
    }
    if (!account.addReserved(bytes)) {
      quota.give(bytes);
      throw new SluiceException("task attempt " + context.taskAttemptId() + " has ended and wants memory");
    }
    return true;
  }

  private Lease waitForLease(long bytes, long encodeBytes, String what) {
    MemoryWait wait = new MemoryWait(context, what, settings.waitNanos());
    Lease lease = waitForLease(bytes, encodeBytes, wait, OWN_THREADS_NANOS);
    if (lease != null) {
      return lease;
    }
    if (wait.nextSliceNanos() > 0) {
      throw cannotFit(bytes + encodeBytes, what);
    }
    counters.increment(Counter.MEMORY_TIMEOUTS);
    throw new SluiceException("no memory for " + what + " within spark.sluice.memory.waitTimeout = "
        + TimeUnit.NANOSECONDS.toMillis(settings.waitNanos()) + " ms: wanted " + (bytes + encodeBytes)
        + " bytes, the task holds " + heldBytes() + ", the most there is for one task is " + quota.mostBytes() + " ("
        + quota.limitSetting() + "): raise the limit, or run fewer tasks at once");
  }

  /**
   * Null when the wait is over, or will not help.
   *
   * @param ownThreadsNanos how long other threads of this task are waited for when it holds all the memory itself
   */
  private Lease waitForLease(long bytes, long encodeBytes, MemoryWait wait, long ownThreadsNanos) {
    counters.increment(Counter.MEMORY_WAITS);
    long start = System.nanoTime();
    try {
      long slice = wait.nextSliceNanos();
      while (slice > 0) {
        if (reserve(bytes + encodeBytes, Claim.ALONE, slice)) {
          Lease lease = leaseReservedOrSpill(bytes, encodeBytes, Claim.ALONE);
          if (lease != null) {
            return lease;
          }
          wait.pause();
        } else if (System.nanoTime() - start > ownThreadsNanos && isHopeless()) {
          return null;
        }
        slice = wait.nextSliceNanos();
      }
      return null;
    } catch (InterruptedException e) {
      throw wait.interrupted(e);
    } finally {
      counters.add(Counter.MEMORY_WAIT_NANOS, System.nanoTime() - start);
    }
  }

  /** Whether this task holds all the memory and no other thread can free some of it. */
  private boolean isHopeless() {
    return quota.isAlone() && !spiller.belongsToAnotherThread();
  }

  /**
   * Fails at once when a task can never have {@code bytes}.
   *
   * @throws SluiceException with the setting to change
   */
  public void failIfNeverGranted(long bytes, String what) {
    if (bytes > quota.mostBytes()) {
      throw cannotFit(bytes, what);
    }
  }

  private SluiceException cannotFit(long bytes, String what) {
    return new SluiceException(what + " needs " + bytes + " bytes of memory at once, beside " + heldBytes()
        + " that the task holds and cannot spill; that is more than the " + quota.mostBytes()
        + " bytes that one task may have, less what encoders and decoders keep for their next frame: raise "
        + quota.limitSetting()
        + " (and with it what the container may use outside the Java heap, spark.executor.memoryOverhead)");
  }

  /** Begins a wait for what the arena, not the quota, has refused; counted. */
  public MemoryWait waitForArena(String what) {
    counters.increment(Counter.MEMORY_WAITS);
    return new MemoryWait(context, what, settings.waitNanos());
  }

  /** Gives back quota of {@link #tryReserve} or {@link #freeKeepingQuota}. */
  public void unreserve(long bytes) {
    account.removeReserved(bytes);
    quota.give(bytes);
  }

  /** Frees a lease and its quota; a lease that was detached is only freed. */
  public void free(Lease lease) {
    detach(lease);
    lease.close();
  }

  /** Frees a lease but keeps its quota as a reservation: for memory that takes the lease's place. */
  public void freeKeepingQuota(Lease lease) {
    account.leaseToReserved(lease);
    lease.close();
  }

  /**
   * Takes a lease out of the account without freeing it: it now belongs to the caller alone, who frees it at
   * any later time, even after the task has ended. For memory that other threads still read.
   */
  public void detach(Lease lease) {
    if (account.remove(lease)) {
      quota.give(lease.bytes());
    }
  }

  /** The most that one task can have. */
  public long mostBytes() {
    return quota.mostBytes();
  }

  /** Bytes that the task holds now, leases and reservations. */
  public long heldBytes() {
    return account.heldBytes();
  }

  /** The most it ever held. */
  public long peakBytes() {
    return account.peakBytes();
  }

  /**
   * The task has ended: frees what is left. The task's readers and writer have freed their memory by now, so what is
   * left is a leak: counted, logged, and an error where the settings ask for it.
   */
  void close() {
    TaskAccount.Remains left = account.close();
    left.leases().forEach(this::free);
    unreserve(left.reservedBytes());
    if (left.bytes() > 0) {
      reportLeak(left);
    }
  }

  private void reportLeak(TaskAccount.Remains left) {
    counters.add(Counter.MEMORY_LEAKED_LEASES, left.leases().size());
    counters.add(Counter.MEMORY_LEAKED_BYTES, left.bytes());
    String message = "task attempt " + context.taskAttemptId() + " of stage " + context.stageId() + " ended with "
        + left.leases().size() + " leases open, " + left.bytes() + " bytes held";
    if (settings.failOnLeak()) {
      throw new SluiceException(message);
    }
    LOG.warn("{}; they were freed", message);
  }
}
