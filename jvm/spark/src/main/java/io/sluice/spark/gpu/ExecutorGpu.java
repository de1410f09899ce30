package io.sluice.spark.gpu;

import io.sluice.nativebridge.NativeException;
import io.sluice.nativebridge.NativeGpu;
import io.sluice.nativebridge.NativeTransport;
import io.sluice.spark.concurrent.WorkerPool;
import io.sluice.spark.conf.BlockSettings;
import io.sluice.spark.conf.GpuSettings;
import io.sluice.spark.conf.GpuUse;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import java.io.File;
import java.time.Duration;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicReference;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The GPU of one executor. It is opened on a thread of its own; until then, and where there is none, tasks encode as
 * without it. All methods may be called from any thread, and none waits for the GPU.
 */
public final class ExecutorGpu implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(ExecutorGpu.class);

  /** What shows which of {@link NativeGpu#STATISTICS}; nothing in an executor decodes on a GPU yet. */
  private static final Map<Counter, String> COUNTERS = new EnumMap<>(Counter.class);

  static {
    COUNTERS.put(Counter.GPU_PINNED_REFUSED, "lanes_refused");
    COUNTERS.put(Counter.GPU_BATCHES, "encoded_batches");
    COUNTERS.put(Counter.GPU_ROW_BYTES, "encoded_bytes");
    COUNTERS.put(Counter.GPU_ENCODE_NANOS, "encode_nanos");
    COUNTERS.put(Counter.GPU_FRAMES_BY_CPU, "frames_by_cpu");
    COUNTERS.put(Counter.GPU_PINNED_BYTES, "pinned_bytes");
    COUNTERS.put(Counter.GPU_UNPINNED_BYTES, "unpinned_bytes");
    COUNTERS.put(Counter.GPU_SORTS, "sorts");
    COUNTERS.put(Counter.GPU_SORTED_PAIRS, "sorted_pairs");
    COUNTERS.put(Counter.GPU_SORT_NANOS, "sort_nanos");
    COUNTERS.put(Counter.GPU_TOO_SMALL, "too_small");
    COUNTERS.put(Counter.GPU_CPU_FASTER, "cpu_faster");
    COUNTERS.put(Counter.GPU_PAUSED, "paused");
    COUNTERS.put(Counter.GPU_BUSY, "busy");
    COUNTERS.put(Counter.GPU_TOO_LARGE, "too_large");
    COUNTERS.put(Counter.GPU_CHECKS_FAILED, "checks_failed");
    COUNTERS.put(Counter.GPU_WRONG_RESULTS, "wrong_results");
    COUNTERS.put(Counter.GPU_NO_MEMORY, "no_memory");
    COUNTERS.put(Counter.GPU_NOT_TAKEN, "not_taken");
    COUNTERS.put(Counter.GPU_CALLS_FAILED, "device_failed");
    COUNTERS.put(Counter.GPU_LOST_BATCHES, "device_lost");
    COUNTERS.put(Counter.GPU_CACHE_OUTPUTS, "cache_kept");
    COUNTERS.put(Counter.GPU_CACHE_OUTPUT_BYTES, "cache_kept_bytes");
    COUNTERS.put(Counter.GPU_CACHE_HITS, "cache_hits");
    COUNTERS.put(Counter.GPU_CACHE_HIT_BYTES, "cache_hit_bytes");
    COUNTERS.put(Counter.GPU_CACHE_MISSES, "cache_misses");
    COUNTERS.put(Counter.GPU_CACHE_EVICTIONS, "cache_evictions");
    COUNTERS.put(Counter.GPU_CACHE_PRESSURE_DROPS, "cache_pressure_drops");
    COUNTERS.put(Counter.GPU_CACHE_ENDED, "cache_forgotten");
    COUNTERS.put(Counter.GPU_CACHE_REFUSED_BY_LIMIT, "cache_refused_by_limit");
    COUNTERS.put(Counter.GPU_CACHE_REFUSED_BY_MEMORY, "cache_refused_by_memory");
    COUNTERS.put(Counter.GPU_CACHE_BUSY, "cache_refused_busy");
    COUNTERS.put(Counter.GPU_CACHE_FAILED, "cache_failed");
    COUNTERS.put(Counter.GPU_CACHE_DAMAGED, "cache_damaged");
    COUNTERS.put(Counter.GPU_CACHE_LOST, "cache_lost");
  }

  /** Longer than a driver takes that compiles the kernels and waits for others' work: it does not answer then. */
  private static final Duration START_LIMIT = Duration.ofMinutes(10);

  private static final AtomicReference<ExecutorGpu> OF_PROCESS = new AtomicReference<>();

  private final GpuUse use;
  private final Counters counters;
  private final Thread starter;
  private final long startNanos = System.nanoTime();
  private final Duration startLimit;
  private boolean unavailableIsCounted;
  /** What was counted; guarded by itself. */
  private final long[] counted = new long[NativeGpu.STATISTICS.size()];
  private final PendingCopies copies = new PendingCopies();
  private boolean failureIsKnown;
  /** Written under the lock. */
  private volatile boolean lossIsKnown;
  private boolean closed;
  /** Null before it is opened, and after it was closed. */
  private volatile Opened opened;

  /** @param threads that wait for batches, as many as it encodes at a time */
  private record Opened(GpuDevice device, WorkerPool threads) {}

  ExecutorGpu(GpuUse use, GpuDevice.Opener opener, Counters counters) {
    this(use, opener, counters, START_LIMIT);
  }

  /** @param startLimit after which a GPU that is not open yet is said to be unavailable */
  ExecutorGpu(GpuUse use, GpuDevice.Opener opener, Counters counters, Duration startLimit) {
    this.use = use;
    this.counters = counters;
    this.startLimit = startLimit;
    this.starter = new Thread(() -> open(opener), "sluice-gpu-start");
    starter.setDaemon(true);
    starter.start();
  }

  /**
   * Begins to open the GPU.
   *
   * @param settings that want one
   * @param blocks how map outputs are made
   * @param address of the device, as Spark's resource discovery gives it; empty: the only one
   */
  public static ExecutorGpu start(GpuSettings settings, BlockSettings blocks, String address, Counters counters) {
    ExecutorGpu gpu = new ExecutorGpu(settings.use(), () -> NativeGpuDevice.open(settings, blocks, address), counters);
    OF_PROCESS.set(gpu);
    return gpu;
  }

  /** The one of this process; empty when none is to be used, and until the first shuffle is written or read here. */
  public static Optional<ExecutorGpu> ofProcess() {
    return Optional.ofNullable(OF_PROCESS.get());
  }

  private void open(GpuDevice.Opener opener) {
    try {
      GpuDevice device = opener.open();
      if (keep(device)) {
        LOG.info("spark.sluice.gpu={}: map output is encoded on a GPU too: {}", word(), device.describe());
        warnOfLanes(device.lacksLanes());
        warnOfCache(device.lacksCache());
      } else {
        device.close();
      }
    } catch (NativeException e) {
      unavailable(e.reason(), e.getMessage());
    } catch (Exception | LinkageError e) {
      unavailable(NativeTransport.UNAVAILABLE, e.toString());
    }
  }

  private static void warnOfLanes(String why) {
    if (!why.isEmpty()) {
      LOG.warn("The driver of this executor's GPU pins less of the host's memory than spark.sluice.gpu.pinned.limit "
          + "(gpu.pinnedRefused), so that fewer batches are encoded at a time: {}", why);
    }
  }

  private static void warnOfCache(String why) {
    if (!why.isEmpty()) {
      LOG.warn("This executor's GPU keeps fewer map outputs than spark.sluice.gpu.cache.limit says: {}", why);
    }
  }

  /** False when the executor has ended meanwhile. */
  private synchronized boolean keep(GpuDevice device) {
    if (!closed) {
      opened = new Opened(device, new WorkerPool("sluice-gpu", device.lanes()));
    }
    return !closed;
  }

  private void unavailable(int reason, String why) {
    if (reason == NativeTransport.NOT_FOUND && use == GpuUse.AUTO) {
      LOG.info("spark.sluice.gpu=auto: this executor has no GPU: {}", why);
      return;
    }
    LOG.warn("spark.sluice.gpu={}, but this executor encodes map output without a GPU, because none can be used: {}",
        word(), why);
    if (reason == NativeGpu.SELF_TEST) {
      counters.increment(Counter.GPU_SELF_TESTS_FAILED);
    }
    countUnavailable();
  }

  /** Counts this executor as one without a GPU, once. Returns whether it did. */
  private boolean countUnavailable() {
    synchronized (counted) {
      if (unavailableIsCounted) {
        return false;
      }
      unavailableIsCounted = true;
    }
    counters.increment(Counter.GPU_UNAVAILABLE);
    return true;
  }

  private String word() {
    return use.name().toLowerCase(Locale.ROOT);
  }

  /** Whether batches go to the GPU before encoder threads are looked for: all that it takes are to be its. */
  public boolean isFirst() {
    return use == GpuUse.ON;
  }

  /**
   * Lets the GPU encode the batches that a native writer gets for it from now on. Never throws.
   *
   * @return false while it is not open; a writer that is older than the GPU is to ask again
   */
  public boolean encodeFor(long writer) {
    Opened now = opened;
    try {
      return now != null && now.device().encodeFor(writer);
    } catch (RuntimeException e) {
      LOG.debug("The GPU does not encode for a map output", e);
      return false;
    }
  }

  /**
   * Starts {@code work}, which encodes a batch by a writer of {@link #encodeFor}, on a thread that waits for the GPU.
   * No other thread may: a driver that does not return holds up the thread that calls it.
   *
   * @param batchBytes of rows and entries, as {@code PageBatch.filledBytes} counts them
   * @param fields of the batch's rows
   * @param partitions of the map output
   * @return its future; null when the GPU would not encode the batch now, or no such thread is idle. The reason is
   *     counted
   */
  public <T> Future<T> trySubmit(long batchBytes, int fields, int partitions, Callable<T> work) {
    Opened now = opened;
    if (now == null || !now.device().wants(batchBytes, fields, partitions)) {
      return null;
    }
    Future<T> result = now.threads().trySubmit(work);
    if (result == null) {
      counters.increment(Counter.GPU_BUSY);
    }
    return result;
  }

  /** Pairs of fewer bytes are never the GPU's; while it is not open, none are. */
  long leastBytes() {
    Opened now = opened;
    return now == null ? Long.MAX_VALUE : now.device().leastBytes();
  }

  /**
   * Starts a sort of pairs on a thread that waits for the GPU; no other thread may, as for {@link #trySubmit}. Never
   * throws.
   *
   * @return to be closed; null when the GPU would not sort the pairs now, or no such thread is idle. The reason is
   *     counted
   */
  PairSort trySort(PairRange pairs) {
    Opened now = opened;
    try {
      if (now == null || !now.device().wantsPairs(pairs)) {
        return null;
      }
      PairSort sort = new PairSort(now.device(), pairs);
      Future<Boolean> result = now.threads().trySubmit(sort);
      if (result == null) {
        sort.close();
        counters.increment(Counter.GPU_BUSY);
        return null;
      }
      sort.setResult(result);
      return sort;
    } catch (RuntimeException e) {
      LOG.debug("The GPU does not sort a task's pairs", e);
      return null;
    }
  }

  /** Tells how long a task took to sort pairs itself. Never throws. */
  void pairsSortedByTask(PairRange pairs, long nanos) {
    Opened now = opened;
    try {
      if (now != null) {
        now.device().pairsSortedByTask(pairs, nanos);
      }
    } catch (RuntimeException e) {
      LOG.debug("It is not known how long a task has sorted", e);
    }
  }

  /**
   * Has a committed map output copied to the GPU's memory, on a thread that waits for it. Where none is idle it is not
   * kept, and counted. Never throws.
   *
   * @param file its data file, which stays as it is until the shuffle ends
   * @param lengths bytes of its partitions; not changed any more
   * @param inMemory whether the file is in memory
   * @param sealed whether its frames are sealed
   */
  public void keep(int shuffleId, long mapId, File file, long[] lengths, boolean inMemory, boolean sealed) {
    Opened now = opened;
    if (now == null || lossIsKnown) {
      return;
    }
    copies.begin(shuffleId);
    Future<?> begun = now.threads().trySubmit(() -> {
      try {
        now.device().keep(shuffleId, mapId, file, lengths, inMemory, sealed);
      } catch (RuntimeException e) {
        LOG.debug("A map output is not kept on the GPU", e);
      } finally {
        copied(now, shuffleId);
      }
      return null;
    });
    if (begun == null) {
      counters.increment(Counter.GPU_CACHE_BUSY);
      copied(now, shuffleId);
    }
  }

  private void copied(Opened now, int shuffleId) {
    if (copies.finish(shuffleId)) {
      forgetShuffle(now, shuffleId);
    }
  }

  /**
   * The host's copy of a map output has moved to memory or to the disk, from where the GPU's costs more to bring back.
   * Never throws, and waits for nothing.
   */
  public void hostCopyMoved(int shuffleId, long mapId, boolean inMemory) {
    Opened now = opened;
    if (now == null) {
      return;
    }
    try {
      now.device().hostCopyMoved(shuffleId, mapId, inMemory);
    } catch (RuntimeException e) {
      LOG.debug("The GPU's copies are dropped in another order than costs say", e);
    }
  }

  /**
   * Whether a map output of this executor should be read from the GPU's memory: it has a copy, and the host's is on the
   * disk. Never throws, and waits for nothing.
   */
  boolean hasNearerCopy(int shuffleId, long mapId) {
    Opened now = opened;
    return now != null && !lossIsKnown && now.device().hasNearerCopy(shuffleId, mapId);
  }

  /**
   * Begins to read partitions of a map output from the GPU's memory, on a thread that waits for it.
   *
   * @param end the partition after the last
   * @param target the address of memory that nobody else uses until {@code ended} is called
   * @param bytes of the partitions
   * @param ended is called on that thread when the GPU does not use the target any more
   * @return whether the target has the bytes; null when no such thread is idle, and then {@code ended} is not called
   */
  Future<Boolean> tryRead(int shuffleId, long mapId, int first, int end, long target, long bytes, Runnable ended) {
    Opened now = opened;
    return now == null ? null : now.threads().trySubmit(() -> {
      try {
        return now.device().readCopy(shuffleId, mapId, first, end, target, bytes);
      } finally {
        ended.run();
      }
    });
  }

  /** Counts a block that is read from the disk although there is a copy of it, where the GPU itself counts nothing. */
  void countMissedCopy() {
    counters.increment(Counter.GPU_CACHE_MISSES);
  }

  /** Shuffles of which map outputs are being copied, or are to be. */
  int pendingCopies() {
    return copies.size();
  }

  /** Drops the copies of a shuffle that has ended. Never throws, and waits for nothing. */
  public void forgetShuffle(int shuffleId) {
    copies.end(shuffleId);
    Opened now = opened;
    if (now != null) {
      forgetShuffle(now, shuffleId);
    }
  }

  private static void forgetShuffle(Opened now, int shuffleId) {
    try {
      now.device().forgetShuffle(shuffleId);
    } catch (RuntimeException e) {
      LOG.debug("A shuffle's copies stay on the GPU until others need the room", e);
    }
  }

  /** Bytes of map outputs in the GPU's memory now. */
  public long cacheBytes() {
    count();
    synchronized (counted) {
      return counted[NativeGpu.STATISTICS.indexOf("cache_bytes")];
    }
  }

  /** Whether the device is not used any more. Looks whether it is. */
  public boolean isLost() {
    count();
    return lossIsKnown;
  }

  /**
   * Brings the counters up to date; a device that was lost, and a call that has failed, are logged the first time.
   * Never throws: what the GPU does is no matter of the task that asks.
   */
  public void count() {
    Opened now = opened;
    if (now == null) {
      countLateStart();
      return;
    }
    try {
      count(now);
    } catch (RuntimeException e) {
      LOG.debug("The GPU's statistics could not be read", e);
    }
  }

  private void countLateStart() {
    boolean late = starter.isAlive() && System.nanoTime() - startNanos >= startLimit.toNanos();
    if (late && countUnavailable()) {
      LOG.warn("spark.sluice.gpu={}: the GPU's driver has not opened the GPU yet, after {} minutes; until it does, "
          + "this executor encodes map output without it", word(), startLimit.toMinutes());
    }
  }

  private void count(Opened now) {
    String why = now.device().lost();
    boolean lost;
    String failure = "";
    synchronized (counted) {
      long[] values = new long[counted.length];
      if (!now.device().statistics(values)) {
        return;
      }
      COUNTERS.forEach((counter, name) -> {
        int at = NativeGpu.STATISTICS.indexOf(name);
        counters.add(counter, values[at] - counted[at]);
      });
      System.arraycopy(values, 0, counted, 0, values.length);
      lost = !why.isEmpty() && !lossIsKnown;
      if (lost) {
        lossIsKnown = true;
      }
      if (counters.get(Counter.GPU_CALLS_FAILED) > 0 && !failureIsKnown) {
        // It is counted a moment before it is told.
        failure = now.device().failure();
        failureIsKnown = !failure.isEmpty();
      }
    }
    if (!failure.isEmpty()) {
      LOG.warn("A call of the driver of this executor's GPU has failed, and its cores encode the batch; later ones are "
          + "counted only (gpu.callsFailed): {}", failure);
    }
    if (lost) {
      counters.increment(Counter.GPU_LOST);
      LOG.warn("This executor's GPU is not used any more, and its cores encode all map output: {}", why);
    }
  }

  /** Gives the GPU back; encodes that wait for it end first, and what they do is not counted. Twice is fine. */
  @Override
  public void close() {
    OF_PROCESS.compareAndSet(this, null);
    count();
    Opened now;
    synchronized (this) {
      closed = true;
      now = opened;
      opened = null;
    }
    if (now != null) {
      now.threads().close();
      now.device().close();
    }
  }
}
