package io.sluice.spark.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.nativebridge.NativeException;
import io.sluice.nativebridge.NativeGpu;
import io.sluice.nativebridge.NativeTransport;
import io.sluice.spark.Await;
import io.sluice.spark.CapturedWarnings;
import io.sluice.spark.conf.GpuUse;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import java.io.File;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class ExecutorGpuTest {
  private static final long LARGE = 4 << 20;
  /** What nothing in an executor does, and what is a gauge. */
  private static final List<String> UNCOUNTED =
      List.of("decodes", "codec_needed", "cache_bytes", "cache_copies");

  private final Counters counters = new Counters();
  private final TestGpu device = new TestGpu(LARGE);

  private ExecutorGpu opened() {
    return device.open(GpuUse.AUTO, counters);
  }

  private static <T> Future<T> submit(ExecutorGpu gpu, long bytes, Callable<T> work) {
    return gpu.trySubmit(bytes, 3, 200, work);
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
    device.did("sorted_pairs", 90_000);
    gpu.count();
    gpu.count();
    assertEquals(5, counters.get(Counter.GPU_BATCHES));
    assertEquals(100, counters.get(Counter.GPU_ROW_BYTES));
    assertEquals(9, counters.get(Counter.GPU_SORTS));
    assertEquals(90_000, counters.get(Counter.GPU_SORTED_PAIRS));
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
    device.lose("a test");
    gpu.count();
    long sum = 0;
    for (Counter counter : Counter.values()) {
      sum += counters.get(counter);
    }
    long expected = names.stream().filter(name -> !UNCOUNTED.contains(name))
        .mapToLong(name -> 10 + names.indexOf(name)).sum();
    assertEquals(expected + 1, sum, "and one lost device");
    gpu.close();
  }

  @Test
  void aLostDeviceIsCountedOnce() {
    ExecutorGpu gpu = opened();
    assertFalse(gpu.isLost());
    device.lose("it does not answer");
    for (int i = 0; i < 3; i++) {
      device.did("device_lost", 1);
      gpu.count();
    }
    assertEquals(1, counters.get(Counter.GPU_LOST));
    assertEquals(3, counters.get(Counter.GPU_LOST_BATCHES));
    assertNull(submit(gpu, LARGE, () -> 1L));
    gpu.close();
  }

  /** Nobody has offered a batch since, and those that are under way never end. */
  @Test
  void aLossIsSeenWithoutAnotherBatch() {
    try (ExecutorGpu gpu = opened()) {
      device.lose("calls of the driver have not returned");
      gpu.count();
      assertEquals(1, counters.get(Counter.GPU_LOST));
      assertEquals(0, counters.get(Counter.GPU_LOST_BATCHES));
      assertTrue(gpu.isLost());
    }
  }

  /** What the device does is no matter of the task whose batch it has encoded. */
  @Test
  void statisticsThatCannotBeReadFailNobody() {
    ExecutorGpu gpu = opened();
    device.refuseStatistics();
    gpu.count();
    assertFalse(gpu.isLost());
    gpu.close();
  }

  @Test
  void onlyOnAsksTheGpuFirst() {
    try (ExecutorGpu auto = opened(); ExecutorGpu on = new TestGpu(LARGE).open(GpuUse.ON, counters)) {
      assertFalse(auto.isFirst());
      assertTrue(on.isFirst());
    }
  }

  @Test
  void asManyBatchesWaitAsItEncodesAtATime() throws Exception {
    ExecutorGpu gpu = opened();
    CountDownLatch end = new CountDownLatch(1);
    assertNull(submit(gpu, LARGE - 1, () -> 1L), "it would decline");
    List<Future<Boolean>> waiting =
        List.of(submit(gpu, LARGE, () -> wait(end)), submit(gpu, LARGE, () -> wait(end)));
    assertNull(submit(gpu, LARGE, () -> true), "a third one");
    assertEquals(1, counters.get(Counter.GPU_BUSY));
    end.countDown();
    for (Future<Boolean> each : waiting) {
      assertTrue(each.get(30, TimeUnit.SECONDS));
    }
    Await.until("a thread is idle", () -> submit(gpu, LARGE, () -> true) != null);
    gpu.close();
    assertNull(submit(gpu, LARGE, () -> 1L));
  }

  @Test
  void beforeItIsOpenNothingGoesThere() {
    CountDownLatch open = new CountDownLatch(1);
    ExecutorGpu gpu = new ExecutorGpu(GpuUse.ON, () -> {
      wait(open);
      return device;
    }, counters);
    assertFalse(gpu.encodeFor(1));
    gpu.count();
    assertNull(submit(gpu, LARGE, () -> 1L));
    gpu.close();
    open.countDown();
    Await.until("it is closed, because the executor has ended", () -> device.timesClosed() == 1);
    assertTrue(device.writers().isEmpty());
    gpu.close();
    assertEquals(1, device.timesClosed());
  }

  /** A call of the driver that does not return, on the thread that opens the GPU. */
  @Test
  void aGpuThatIsNeverOpenIsCountedOnce() {
    CountDownLatch open = new CountDownLatch(1);
    for (Duration limit : List.of(Duration.ofHours(1), Duration.ZERO)) {
      ExecutorGpu gpu = new ExecutorGpu(GpuUse.AUTO, () -> {
        wait(open);
        throw new NativeException(NativeTransport.NOT_FOUND, "a test");
      }, counters, limit);
      gpu.count();
      gpu.count();
      assertEquals(limit.isZero() ? 1 : 0, counters.get(Counter.GPU_UNAVAILABLE));
    }
    open.countDown();
  }

  /** A driver that answers after all, with an error. */
  @Test
  void aGpuThatFailsLateIsCountedOnce() {
    CountDownLatch open = new CountDownLatch(1);
    ExecutorGpu gpu = new ExecutorGpu(GpuUse.ON, () -> {
      wait(open);
      throw new NativeException(NativeGpu.SELF_TEST, "a test");
    }, counters, Duration.ZERO);
    try (gpu) {
      gpu.count();
      assertEquals(1, counters.get(Counter.GPU_UNAVAILABLE));
      open.countDown();
      Await.until("it has failed", () -> counters.get(Counter.GPU_SELF_TESTS_FAILED) == 1);
      gpu.count();
      assertEquals(1, counters.get(Counter.GPU_UNAVAILABLE));
    }
  }

  /** A failed call is counted before its text is there: one warning, which says what has failed. */
  @Test
  void theWarningOfAFailedCallWaitsForItsText() {
    try (CapturedWarnings warnings = CapturedWarnings.of(ExecutorGpu.class); ExecutorGpu gpu = opened()) {
      device.did("device_failed", 1);
      gpu.count();
      assertEquals(List.of(), warnings.texts());
      device.fail("cuLaunchKernel: a test");
      gpu.count();
      device.did("device_failed", 1);
      gpu.count();
      assertEquals(1, warnings.texts().size(), () -> warnings.texts().toString());
      assertTrue(warnings.texts().get(0).endsWith("cuLaunchKernel: a test"), warnings.texts().get(0));
      assertEquals(2, counters.get(Counter.GPU_CALLS_FAILED));
    }
  }

  @Test
  void mapOutputsAreKeptBesideTheTaskAndDroppedWithTheirShuffle() {
    try (ExecutorGpu gpu = opened()) {
      CountDownLatch latch = new CountDownLatch(1);
      device.keepAfter(latch);
      for (int map = 0; map < 3; map++) {
        gpu.keep(5, map, new File("/data/" + map), new long[] {3, 4}, map == 1, false);
      }
      Await.until("both threads wait", () -> device.kept().size() == 2);
      assertEquals(1, counters.get(Counter.GPU_CACHE_BUSY), "no thread was idle for the third");
      latch.countDown();
      assertEquals(List.of("5/0 /data/0 [3, 4] false false", "5/1 /data/1 [3, 4] true false"),
          device.kept().stream().sorted().toList());
      gpu.hostCopyMoved(5, 1, false);
      gpu.hostCopyMoved(5, 1, true);
      assertEquals(List.of("5/1 false", "5/1 true"), device.moves());
      Await.until("both are copied", () -> gpu.pendingCopies() == 0);
      gpu.forgetShuffle(5);
      assertEquals(List.of(5), device.forgotten());
      device.did("cache_kept", 2);
      device.did("cache_bytes", 14);
      device.did("cache_forgotten", 1);
      assertEquals(14, gpu.cacheBytes());
      assertEquals(2, counters.get(Counter.GPU_CACHE_OUTPUTS));
      assertEquals(1, counters.get(Counter.GPU_CACHE_ENDED));
      device.did("cache_bytes", -14);
      assertEquals(0, gpu.cacheBytes());
      // A device that fails is no matter of the task or of whoever ends the shuffle.
      device.refuseStatistics();
      gpu.forgetShuffle(6);
      gpu.hostCopyMoved(6, 1, false);
      Await.until("a thread is idle", () -> {
        gpu.keep(6, 9, new File("/data/9"), new long[] {1}, false, true);
        return device.kept().contains("6/9 /data/9 [1] false true");
      });
    }
  }

  @Test
  void aCopyThatComesAfterItsShuffleHasEndedIsDropped() {
    try (ExecutorGpu gpu = opened()) {
      CountDownLatch latch = new CountDownLatch(1);
      device.keepAfter(latch);
      gpu.keep(5, 1, new File("/data"), new long[] {1}, false, false);
      Await.until("it is under way", () -> device.kept().size() == 1);
      gpu.forgetShuffle(5);
      assertEquals(List.of(5), device.forgotten());
      latch.countDown();
      Await.until("it is dropped", () -> device.forgotten().equals(List.of(5, 5)));
    }
  }

  @Test
  void aGpuThatIsNotOpenOrIsLostKeepsNothing() {
    CountDownLatch latch = new CountDownLatch(1);
    try (ExecutorGpu gpu = device.openAfter(latch, GpuUse.ON, counters)) {
      gpu.keep(5, 1, new File("/data"), new long[] {1}, false, false);
      gpu.forgetShuffle(5);
      gpu.hostCopyMoved(5, 1, false);
      assertEquals(0, gpu.cacheBytes());
      latch.countDown();
      Await.until("it is opened", () -> gpu.encodeFor(7));
      device.lose("a test");
      assertTrue(gpu.isLost());
      gpu.keep(5, 1, new File("/data"), new long[] {1}, false, false);
    }
    assertEquals(List.of(), device.kept());
    assertEquals(List.of(), device.forgotten());
    assertEquals(0, counters.get(Counter.GPU_CACHE_BUSY));
  }

  @Test
  void aLowerLimitOfTheCacheIsWarnedOf() {
    String why = "64 MiB and not 100, because a test";
    device.lackCache(why);
    try (CapturedWarnings warnings = CapturedWarnings.of(ExecutorGpu.class); ExecutorGpu gpu = opened()) {
      Await.until("it is said", () -> !warnings.texts().isEmpty());
      assertEquals(1, warnings.texts().size(), () -> warnings.texts().toString());
      String words = warnings.texts().get(0);
      assertTrue(words.contains("spark.sluice.gpu.cache.limit") && words.endsWith(why), words);
    }
  }

  /** A limit on locked memory, or on the container's. */
  @Test
  void fewerBatchesAtATimeThanAllowedAreWarnedOfOnceAndCounted() {
    String why = "2 batches at a time and not 8, because a test";
    device.lackLanes(why);
    device.did("lanes_refused", 6);
    try (CapturedWarnings warnings = CapturedWarnings.of(ExecutorGpu.class); ExecutorGpu gpu = opened()) {
      Await.until("it is said", () -> !warnings.texts().isEmpty());
      gpu.count();
      gpu.count();
      assertEquals(6, counters.get(Counter.GPU_PINNED_REFUSED));
      assertEquals(1, warnings.texts().size(), () -> warnings.texts().toString());
      assertTrue(warnings.texts().get(0).endsWith(why), warnings.texts().get(0));
    }
  }

  @Test
  void withoutAGpuAutoSaysAndCountsNothing() {
    try (ExecutorGpu gpu = failing(GpuUse.AUTO, NativeTransport.NOT_FOUND)) {
      assertNotNull(gpu);
    }
    try (ExecutorGpu gpu = failing(GpuUse.AUTO, NativeTransport.UNAVAILABLE)) {
      Await.until("what cannot be used is counted", () -> counters.get(Counter.GPU_UNAVAILABLE) == 1);
      assertNull(submit(gpu, LARGE, () -> 1L));
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
