package io.sluice.spark.gpu;

import io.sluice.nativebridge.NativeException;
import io.sluice.nativebridge.NativeGpu;
import io.sluice.nativebridge.NativeTransport;
import io.sluice.spark.concurrent.WorkerPool;
import io.sluice.spark.conf.GpuSettings;
import io.sluice.spark.conf.GpuUse;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.Future;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The GPU of one executor. It is opened on a thread of its own; until then, and where there is none, tasks encode as
 * without it. All methods may be called from any thread, and none waits for the GPU.
 */
public final class ExecutorGpu implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(ExecutorGpu.class);

  /** What shows which of {@link NativeGpu#STATISTICS}; nothing in an executor decodes or sorts on a GPU yet. */
  private static final Map<Counter, String> COUNTERS = new EnumMap<>(Counter.class);

  static {
    COUNTERS.put(Counter.GPU_BATCHES, "encoded_batches");
    COUNTERS.put(Counter.GPU_ROW_BYTES, "encoded_bytes");
    COUNTERS.put(Counter.GPU_ENCODE_NANOS, "encode_nanos");
    COUNTERS.put(Counter.GPU_FRAMES_BY_CPU, "frames_by_cpu");
    COUNTERS.put(Counter.GPU_CPU_FASTER, "cpu_faster");
    COUNTERS.put(Counter.GPU_BUSY, "busy");
    COUNTERS.put(Counter.GPU_TOO_LARGE, "too_large");
    COUNTERS.put(Counter.GPU_CHECKS_FAILED, "checks_failed");
    COUNTERS.put(Counter.GPU_NO_MEMORY, "no_memory");
    COUNTERS.put(Counter.GPU_NOT_TAKEN, "not_taken");
    COUNTERS.put(Counter.GPU_CALLS_FAILED, "device_failed");
    COUNTERS.put(Counter.GPU_LOST_BATCHES, "device_lost");
  }

  private final GpuUse use;
  private final Counters counters;
  private final Thread starter;
  /** What was counted; guarded by itself. */
  private final long[] counted = new long[NativeGpu.STATISTICS.size()];
  private boolean lossIsKnown;
  private boolean closed;
  /** Null before it is opened, and after it was closed. */
  private volatile Opened opened;

  /** @param threads that wait for batches, as many as it encodes at a time */
  private record Opened(GpuDevice device, WorkerPool threads) {}

  ExecutorGpu(GpuUse use, GpuDevice.Opener opener, Counters counters) {
    this.use = use;
    this.counters = counters;
    this.starter = new Thread(() -> open(opener), "sluice-gpu-start");
    starter.setDaemon(true);
    starter.start();
  }

  /**
   * Begins to open the GPU.
   *
   * @param settings that want one
   * @param address of the device, as Spark's resource discovery gives it; empty: the only one
   */
  public static ExecutorGpu start(GpuSettings settings, String address, Counters counters) {
    return new ExecutorGpu(settings.use(), () -> NativeGpuDevice.open(settings, address), counters);
  }

  private void open(GpuDevice.Opener opener) {
    try {
      GpuDevice device = opener.open();
      if (keep(device)) {
        LOG.info("spark.sluice.gpu={}: map output is encoded on a GPU too: {}", word(), device.describe());
      } else {
        device.close();
      }
    } catch (NativeException e) {
      unavailable(e.reason(), e.getMessage());
    } catch (Exception | LinkageError e) {
      unavailable(NativeTransport.UNAVAILABLE, e.toString());
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
    counters.increment(Counter.GPU_UNAVAILABLE);
    if (reason == NativeGpu.SELF_TEST) {
      counters.increment(Counter.GPU_SELF_TESTS_FAILED);
    }
    LOG.warn("spark.sluice.gpu={}, but this executor encodes map output without a GPU, because none can be used: {}",
        word(), why);
  }

  private String word() {
    return use.name().toLowerCase(Locale.ROOT);
  }

  /** Lets the GPU encode the batches that a native writer gets from now on, if it is there. */
  public void encodeFor(long writer) {
    Opened now = opened;
    if (now != null) {
      now.device().encodeFor(writer);
    }
  }

  /**
   * Starts {@code work}, which encodes a batch by a writer of {@link #encodeFor}, on a thread that waits for the GPU.
   *
   * @return its future; null when the GPU would not encode the batch now, or no such thread is idle
   */
  public <T> Future<T> trySubmit(long rowBytes, Callable<T> work) {
    Opened now = opened;
    return now != null && now.device().prefers(rowBytes) ? now.threads().trySubmit(work) : null;
  }

  /** Brings the counters up to date; a device that was lost is logged the first time. */
  public void count() {
    Opened now = opened;
    if (now == null) {
      return;
    }
    boolean lost;
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
      lost = counters.get(Counter.GPU_LOST_BATCHES) > 0 && !lossIsKnown;
      lossIsKnown |= lost;
    }
    if (lost) {
      counters.increment(Counter.GPU_LOST);
      LOG.warn("This executor's GPU is not used any more, and its cores encode all map output: {}",
          now.device().lost());
    }
  }

  /** Gives the GPU back; encodes that wait for it end first. Twice is fine. */
  @Override
  public void close() {
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
