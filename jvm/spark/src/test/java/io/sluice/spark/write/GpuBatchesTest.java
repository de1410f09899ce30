package io.sluice.spark.write;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.nativebridge.Lease;
import io.sluice.nativebridge.NativeCore;
import io.sluice.nativebridge.NativeException;
import io.sluice.spark.Await;
import io.sluice.spark.LocalSpark;
import io.sluice.spark.SluiceException;
import io.sluice.spark.concurrent.WorkerPool;
import io.sluice.spark.conf.GpuUse;
import io.sluice.spark.executor.ExecutorState;
import io.sluice.spark.gpu.ExecutorGpu;
import io.sluice.spark.gpu.TestGpu;
import io.sluice.spark.memory.TaskMemory;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.store.SpillFiles;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext$;
import org.apache.spark.TaskContextImpl;
import org.apache.spark.unsafe.Platform;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;
import org.junit.jupiter.api.io.TempDir;
import scala.Option;

/** Which thread encodes a batch where there is a GPU, and what a driver does to tasks that does not return. */
// A thread of its own ends with each test, and with it the scratch memory of its native encoder.
@Timeout(value = 120, threadMode = ThreadMode.SEPARATE_THREAD)
class GpuBatchesTest {
  private static final int PARTITIONS = 20;
  private static final int ROW_BYTES = 104;
  private static final long MIB = 1 << 20;
  private static final int PAGE_BYTES = 64 << 10;

  @TempDir private Path folder;
  private final TestGpu device = new TestGpu(4 * MIB);
  private final TaskContextImpl context = TaskContext$.MODULE$.empty();
  private final WorkerPool pool = new WorkerPool("test-encoder", 1);
  private LocalSpark spark;
  private ExecutorGpu gpu;
  private Hooks runs;
  private MapOutput output;
  private TaskMemory memory;

  /** Runs of the native core, which tell who encodes them. */
  private static final class Hooks extends DelegatingRuns {
    private final List<String> encoded = new CopyOnWriteArrayList<>();
    private final AtomicInteger waiting = new AtomicInteger();
    /** Until it has returned the GPU has not answered. */
    private volatile Runnable beforeGpu = () -> {};
    /** Before a batch is encoded by the thread that has asked the GPU. */
    private volatile Runnable afterGpu = () -> {};

    Hooks(Runs runs) {
      super(runs);
    }

    private String thread() {
      return Thread.currentThread().getName().replaceAll("-[0-9]+$", "");
    }

    @Override
    public long encode(long sequence, int fields, long[] pages) {
      encoded.add("cpu on " + thread());
      return super.encode(sequence, fields, pages);
    }

    @Override
    public long encodeOnGpu(long sequence, int fields, long[] pages) {
      encoded.add("gpu on " + thread());
      waiting.incrementAndGet();
      try {
        beforeGpu.run();
      } finally {
        waiting.decrementAndGet();
      }
      afterGpu.run();
      return super.encode(sequence, fields, pages);
    }

    @Override
    public int waitingForGpu() {
      return waiting.get();
    }
  }

  @BeforeEach
  void openOutput() {
    spark = LocalSpark.start(Map.of());
    ExecutorState executor = spark.manager().executorState();
    memory = executor.memory().of(context);
    runs = new Hooks(new NativeRuns(PARTITIONS, executor.settings().blocks(), false, null));
    SpillFiles spills = new SpillFiles(SparkEnv.get().blockManager().diskBlockManager(), executor.counters());
    output = new MapOutput(
        () -> runs, PARTITIONS, false, null, executor.settings().blocks(), memory, spills, executor.counters());
  }

  @AfterEach
  void everythingIsGivenBack() {
    output.close();
    pool.close();
    gpu.close();
    assertEquals(0, memory.heldBytes());
    context.markTaskCompleted(Option.empty());
    assertEquals(0, spark.counter(Counter.MEMORY_LEAKED_BYTES));
    spark.close();
    Await.until("nothing is leased", () -> NativeCore.leasedBytes() == 0);
  }

  private BatchEncoder encoder(GpuUse use) {
    gpu = device.open(use, spark.manager().executorState().counters());
    return new BatchEncoder(output, memory, pool, gpu, context, spark.manager().executorState().counters());
  }

  /** A batch that has just become full, of rows and entries together. */
  private PageBatch batch(long fullBytes) {
    PageBatch batch = new PageBatch(12);
    byte[] row = new byte[ROW_BYTES];
    for (int i = 0; batch.filledBytes() < fullBytes;) {
      Lease lease = memory.tryLeaseForRows(PAGE_BYTES, 0);
      PageWriter page = batch.addPage(lease, 0);
      do {
        Platform.putLong(row, Platform.BYTE_ARRAY_OFFSET + 8, ++i * 0x9E3779B97F4A7C15L);
      } while (page.append(i % PARTITIONS, row, Platform.BYTE_ARRAY_OFFSET, ROW_BYTES));
    }
    return batch;
  }

  private long commit() throws IOException {
    return output.commit(folder.resolve("data").toFile(), new long[PARTITIONS], new long[PARTITIONS]);
  }

  /** As long as batches of few partitions are by default; its rows alone are shorter than the GPU's least batch. */
  @Test
  void aFullBatchOfFewPartitionsReachesTheGpu() throws IOException {
    BatchEncoder encoder = encoder(GpuUse.ON);
    PageBatch full = batch(4 * MIB);
    assertTrue(full.rowBytes() < 4 * MIB, () -> full.rowBytes() + " bytes of rows");
    encoder.encode(full);
    encoder.settleAll();
    assertEquals(List.of("gpu on sluice-gpu"), runs.encoded);
    assertTrue(commit() > 0);
  }

  @Test
  void theGpuGetsWhatNoEncoderThreadTakes() throws Exception {
    BatchEncoder encoder = encoder(GpuUse.AUTO);
    CountDownLatch end = new CountDownLatch(1);
    pool.trySubmit(() -> await(end));
    encoder.encode(batch(5 * MIB));
    encoder.settleAll();
    end.countDown();
    Await.until("the encoder thread is idle", pool::hasIdle);
    encoder.encode(batch(5 * MIB));
    encoder.settleAll();
    assertEquals(List.of("gpu on sluice-gpu", "cpu on test-encoder"), runs.encoded);
    assertTrue(commit() > 0);
  }

  /** The task's thread waits for the GPU where it can be killed; what the GPU does not take it encodes itself. */
  @Test
  void theTasksThreadDoesNotCallTheDriver() throws IOException {
    BatchEncoder encoder = encoder(GpuUse.AUTO);
    encoder.encodeHere(batch(5 * MIB));
    encoder.encodeHere(batch(1));
    assertEquals("gpu on sluice-gpu", runs.encoded.get(0));
    String second = runs.encoded.get(1);
    assertTrue(second.startsWith("cpu on ") && !second.contains("sluice"), second);
    assertTrue(commit() > 0);
  }

  @Test
  void aBatchForWhichTheArenaHasNoRoomIsEncodedAgainByTheTask() throws IOException {
    BatchEncoder encoder = encoder(GpuUse.ON);
    runs.beforeGpu = () -> {
      throw new NativeException(NativeCore.NO_MEMORY, "a test");
    };
    encoder.encode(batch(5 * MIB));
    encoder.settleAll();
    assertEquals("gpu on sluice-gpu", runs.encoded.get(0));
    assertTrue(runs.encoded.get(1).startsWith("cpu on "), runs.encoded.get(1));
    assertTrue(commit() > 0);
  }

  /** A task that waits for a lost device fails; its pages are freed when the call returns, and not before. */
  @Test
  void aDriverThatDoesNotReturnFailsTheTask() throws Exception {
    BatchEncoder encoder = encoder(GpuUse.ON);
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch returns = new CountDownLatch(1);
    runs.beforeGpu = () -> {
      begun.countDown();
      await(returns);
    };
    Thread loses = new Thread(() -> {
      await(begun);
      device.lose("calls of the driver have not returned");
    });
    loses.start();
    SluiceException failed = assertThrows(SluiceException.class, () -> encoder.encodeHere(batch(5 * MIB)));
    assertTrue(failed.getMessage().contains("the GPU's driver has not returned"), failed.getMessage());
    assertEquals(1, spark.counter(Counter.GPU_LOST));
    // An interrupted task gives up waiting at once.
    Thread.currentThread().interrupt();
    encoder.abandon();
    assertTrue(Thread.interrupted());
    assertEquals(0, memory.heldBytes(), "the task's account is empty");
    assertTrue(NativeCore.leasedBytes() >= 5 * MIB, "the pages are still there");
    returns.countDown();
    loses.join();
    Await.until("the GPU's thread has freed the pages", () -> NativeCore.leasedBytes() < 5 * MIB);
  }

  /** The GPU has declined the batch when it was lost, and its thread encodes, on a core that others use too. */
  @Test
  void aSlowEncodeAfterALossFailsNoTask() throws IOException {
    BatchEncoder encoder = encoder(GpuUse.ON);
    runs.beforeGpu = () -> device.lose("a test");
    runs.afterGpu = () -> {
      long begin = System.nanoTime();
      Await.until("longer than a call of a lost GPU's driver is waited for",
          () -> System.nanoTime() - begin > TimeUnit.MILLISECONDS.toNanos(6_500));
    };
    encoder.encodeHere(batch(5 * MIB));
    assertEquals(List.of("gpu on sluice-gpu"), runs.encoded);
    assertEquals(1, spark.counter(Counter.GPU_LOST));
    assertTrue(commit() > 0);
  }

  private static boolean await(CountDownLatch latch) {
    try {
      return latch.await(60, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
