package io.sluice.spark.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.nativebridge.NativeException;
import io.sluice.nativebridge.NativeGpu;
import io.sluice.nativebridge.NativeTransport;
import io.sluice.spark.Await;
import io.sluice.spark.conf.GpuUse;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class ExecutorGpuTest {
  private static final long LARGE = 4 << 20;

  private final Counters counters = new Counters();
  private final Device device = new Device();

  /** A GPU that does nothing, and has done what a test says. */
  private static final class Device implements GpuDevice {
    private final long[] statistics = new long[NativeGpu.STATISTICS.size()];
    private final List<Long> writers = new ArrayList<>();
    private final AtomicInteger closed = new AtomicInteger();
    private volatile String lost = "";

    void did(String name, long amount) {
      statistics[NativeGpu.STATISTICS.indexOf(name)] += amount;
    }

    @Override
    public String describe() {
      return "a device of a test";
    }

    @Override
    public int lanes() {
      return 2;
    }

    @Override
    public boolean prefers(long rowBytes) {
      return rowBytes >= LARGE && lost.isEmpty();
    }

    @Override
    public void encodeFor(long writer) {
      writers.add(writer);
    }

    @Override
    public boolean statistics(long[] values) {
      System.arraycopy(statistics, 0, values, 0, values.length);
      return closed.get() == 0;
    }

    @Override
    public String lost() {
      return lost;
    }

    @Override
    public void close() {
      closed.incrementAndGet();
    }
  }

  private ExecutorGpu opened() {
    ExecutorGpu gpu = new ExecutorGpu(GpuUse.AUTO, () -> device, counters);
    Await.until("it is opened", () -> {
      gpu.encodeFor(7);
      return !device.writers.isEmpty();
    });
    return gpu;
  }

  private ExecutorGpu failing(GpuUse use, int reason) {
    CountDownLatch failed = new CountDownLatch(1);
    ExecutorGpu gpu = new ExecutorGpu(use, () -> {
      failed.countDown();
      if (reason == 0) {
        throw new IOException("no folder");
      }
      throw new NativeException(reason, "a test");
    }, counters);
    assertTrue(wait(failed));
    return gpu;
  }

  private static boolean wait(CountDownLatch latch) {
    try {
      return latch.await(30, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void countersHaveWhatTheDeviceDidSinceTheLastTime() {
    ExecutorGpu gpu = opened();
    device.did("encoded_batches", 2);
    device.did("encoded_bytes", 100);
    device.did("too_large", 1);
    gpu.count();
    device.did("encoded_batches", 3);
    device.did("sorts", 9);
    gpu.count();
    gpu.count();
    assertEquals(5, counters.get(Counter.GPU_BATCHES));
    assertEquals(100, counters.get(Counter.GPU_ROW_BYTES));
    assertEquals(1, counters.get(Counter.GPU_TOO_LARGE));
    assertEquals(0, counters.get(Counter.GPU_LOST));
    device.did("busy", 4);
    gpu.close();
    assertEquals(4, counters.get(Counter.GPU_BUSY), "the end has the rest");
  }

  @Test
  void everyDeclineIsCounted() {
    ExecutorGpu gpu = opened();
    List<String> names = NativeGpu.STATISTICS;
    names.forEach(name -> device.did(name, 10 + names.indexOf(name)));
    gpu.count();
    long sum = 0;
    for (Counter counter : Counter.values()) {
      sum += counters.get(counter);
    }
    long expected = names.stream().filter(name -> !List.of("decodes", "sorts", "codec_needed").contains(name))
        .mapToLong(name -> 10 + names.indexOf(name)).sum();
    assertEquals(expected + 1, sum, "and one lost device");
    gpu.close();
  }

  @Test
  void aLostDeviceIsCountedOnce() {
    ExecutorGpu gpu = opened();
    device.lost = "it does not answer";
    for (int i = 0; i < 3; i++) {
      device.did("device_lost", 1);
      gpu.count();
    }
    assertEquals(1, counters.get(Counter.GPU_LOST));
    assertEquals(3, counters.get(Counter.GPU_LOST_BATCHES));
    assertNull(gpu.trySubmit(LARGE, () -> 1L));
    gpu.close();
  }

  @Test
  void asManyBatchesWaitAsItEncodesAtATime() throws Exception {
    ExecutorGpu gpu = opened();
    CountDownLatch end = new CountDownLatch(1);
    assertNull(gpu.trySubmit(LARGE - 1, () -> 1L), "it would decline");
    List<Future<Boolean>> waiting =
        List.of(gpu.trySubmit(LARGE, () -> wait(end)), gpu.trySubmit(LARGE, () -> wait(end)));
    assertNull(gpu.trySubmit(LARGE, () -> true), "a third one");
    end.countDown();
    for (Future<Boolean> each : waiting) {
      assertTrue(each.get(30, TimeUnit.SECONDS));
    }
    Await.until("a thread is idle", () -> gpu.trySubmit(LARGE, () -> true) != null);
    gpu.close();
    assertNull(gpu.trySubmit(LARGE, () -> 1L));
  }

  @Test
  void beforeItIsOpenNothingGoesThere() {
    CountDownLatch open = new CountDownLatch(1);
    ExecutorGpu gpu = new ExecutorGpu(GpuUse.ON, () -> {
      wait(open);
      return device;
    }, counters);
    gpu.encodeFor(1);
    gpu.count();
    assertNull(gpu.trySubmit(LARGE, () -> 1L));
    gpu.close();
    open.countDown();
    Await.until("it is closed, because the executor has ended", () -> device.closed.get() == 1);
    assertTrue(device.writers.isEmpty());
    gpu.close();
    assertEquals(1, device.closed.get());
  }

  @Test
  void withoutAGpuAutoSaysAndCountsNothing() {
    try (ExecutorGpu gpu = failing(GpuUse.AUTO, NativeTransport.NOT_FOUND)) {
      assertNotNull(gpu);
    }
    try (ExecutorGpu gpu = failing(GpuUse.AUTO, NativeTransport.UNAVAILABLE)) {
      Await.until("what cannot be used is counted", () -> counters.get(Counter.GPU_UNAVAILABLE) == 1);
      assertNull(gpu.trySubmit(LARGE, () -> 1L));
    }
  }

  @Test
  void onWithoutAGpuIsCounted() {
    int executors = 0;
    for (int reason : new int[] {NativeTransport.NOT_FOUND, NativeTransport.UNAVAILABLE, NativeGpu.SELF_TEST, 0}) {
      int expected = ++executors;
      try (ExecutorGpu gpu = failing(GpuUse.ON, reason)) {
        Await.until("it is counted", () -> counters.get(Counter.GPU_UNAVAILABLE) == expected);
        gpu.encodeFor(1);
      }
    }
    assertEquals(1, counters.get(Counter.GPU_SELF_TESTS_FAILED));
  }
}
