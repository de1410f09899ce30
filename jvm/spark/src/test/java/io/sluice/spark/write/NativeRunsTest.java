package io.sluice.spark.write;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.nativebridge.NativeCore;
import io.sluice.nativebridge.NativeLibrary;
import io.sluice.spark.Await;
import io.sluice.spark.conf.BlockSettings;
import io.sluice.spark.conf.GpuUse;
import io.sluice.spark.conf.Settings;
import io.sluice.spark.gpu.ExecutorGpu;
import io.sluice.spark.gpu.TestGpu;
import io.sluice.spark.metrics.Counters;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.apache.spark.SparkConf;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;

/** A map output in the native core, and the executor's GPU. */
// A thread of its own ends with each test, and with it the scratch memory of its native encoder.
@Timeout(value = 120, threadMode = ThreadMode.SEPARATE_THREAD)
class NativeRunsTest {
  private static final BlockSettings BLOCKS = Settings.from(new SparkConf(false)).blocks();
  private static final int PARTITIONS = 3;
  private static final long[] NO_PAGES = {};

  @BeforeAll
  static void load() {
    NativeLibrary.Status library = NativeLibrary.load("");
    assertTrue(library.available(), library.detail());
  }

  /** The first tasks of an executor begin while the GPU is being opened, which takes seconds. */
  @Test
  void anOutputThatIsOlderThanTheGpuIsEncodedByItToo() {
    TestGpu device = new TestGpu(0);
    CountDownLatch open = new CountDownLatch(1);
    List<Long> encodedBefore = new ArrayList<>();
    device.onWriter(writer -> encodedBefore.add(NativeCore.writerMemoryBytes(writer)));
    try (ExecutorGpu gpu = device.openAfter(open, GpuUse.ON, new Counters())) {
      NativeRuns runs = new NativeRuns(PARTITIONS, BLOCKS, false, null, gpu);
      runs.encodeOnGpu(0, 1, NO_PAGES);
      assertEquals(List.of(), device.writers(), "it is not open");
      open.countDown();
      Await.until("it is open", () -> gpu.trySubmit(1, 1, PARTITIONS, () -> 1) != null);
      assertEquals(List.of(), device.writers());
      runs.encodeOnGpu(1, 1, NO_PAGES);
      assertEquals(1, device.writers().size(), "asked again with the next batch");
      runs.encodeOnGpu(2, 1, NO_PAGES);
      assertEquals(1, device.writers().size(), "the GPU has it");
      assertEquals(List.of(0L), encodedBefore);
      assertEquals(0, runs.waitingForGpu());
      assertEquals(0, runs.batchesByGpu());
      runs.close();
    }
  }
}
