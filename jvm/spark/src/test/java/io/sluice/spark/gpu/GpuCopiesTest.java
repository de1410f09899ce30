package io.sluice.spark.gpu;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.Await;
import io.sluice.spark.conf.GpuUse;
import io.sluice.spark.decode.TestMemory;
import io.sluice.spark.fetch.BlockInput;
import io.sluice.spark.fetch.ShuffleBlock;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.ShuffleBlockBatchId;
import org.apache.spark.storage.ShuffleBlockId;
import org.apache.spark.unsafe.Platform;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class GpuCopiesTest {
  private static final int BYTES = 200_000;

  private final TestGpu device = new TestGpu(0);
  private final Counters counters = new Counters();
  private final ExecutorGpu gpu = device.open(GpuUse.ON, counters);
  private final TestMemory memory = new TestMemory();
  private final byte[] copy = new byte[BYTES];

  @AfterEach
  void allMemoryIsBack() {
    gpu.close();
    memory.close();
  }

  private GpuCopies copies(Duration patience) {
    new Random(7).nextBytes(copy);
    device.hasCopies(copy);
    return new GpuCopies(gpu, memory, patience);
  }

  private GpuCopies copies() {
    return copies(Duration.ofSeconds(50));
  }

  private static ShuffleBlock block(BlockId id) {
    return new ShuffleBlock(id, BlockManagerId.apply("1", "host", 7, scala.Option.empty()), 0);
  }

  private static BlockInput open(GpuCopies copies, long bytes) {
    return copies.open(block(new ShuffleBlockId(4, 5, 6)), bytes, () -> "a diagnosis");
  }

  /** Blocks that were read from the disk although there was a copy; the device of these tests counts none. */
  private void assertMissed(int blocks) {
    assertEquals(blocks, counters.get(Counter.GPU_CACHE_MISSES));
  }

  private byte[] bytesOf(BlockInput input) throws IOException {
    long target = Platform.allocateMemory(BYTES);
    try {
      int read = 0;
      for (int more = input.read(target, 1000); more > 0; more = input.read(target + read, 70_000)) {
        read += more;
      }
      byte[] bytes = new byte[read];
      Platform.copyMemory(null, target, bytes, Platform.BYTE_ARRAY_OFFSET, read);
      return bytes;
    } finally {
      Platform.freeMemory(target);
    }
  }

  @Test
  void aBlockHasTheBytesOfTheCopy() throws IOException {
    try (BlockInput input = open(copies(), BYTES)) {
      assertEquals(BYTES, input.sizeBytes());
      assertTrue(input.isInMemory());
      assertEquals("a diagnosis", input.diagnose(new IOException()));
      assertArrayEquals(copy, bytesOf(input));
    }
    assertEquals(List.of("4/5 6 to 7"), device.reads());
  }

  @Test
  void severalPartitionsAreReadAtOnce() throws IOException {
    try (BlockInput input = copies().open(block(new ShuffleBlockBatchId(4, 5, 6, 9)), BYTES, () -> null)) {
      assertArrayEquals(copy, bytesOf(input));
    }
    assertEquals(List.of("4/5 6 to 9"), device.reads());
  }

  @Test
  void theFileIsReadWhereThereIsNoCopyOrNoUseOfOne() {
    GpuCopies copies = copies();
    assertNull(open(copies, 1000), "a small block");
    assertNull(open(copies, 1L << 30), "a block that is too large for memory");
    assertMissed(0);
    memory.refuse(true);
    assertNull(open(copies, BYTES), "no memory");
    assertMissed(1);
    memory.refuse(false);
    device.hasCopies(null);
    assertNull(open(copies, BYTES), "no copy");
    assertMissed(1);
    assertEquals(List.of(), device.reads());
    device.hasCopies(new byte[BYTES - 8]);
    assertNull(open(copies, BYTES), "a copy of another length");
    assertEquals(1, device.reads().size());
  }

  @Test
  void aReadThatFailsIsReadFromTheFile() {
    GpuCopies copies = copies();
    device.refuseStatistics();
    assertNull(open(copies, BYTES));
    assertEquals(1, device.reads().size());
    assertMissed(1);
  }

  /** The memory stays as long as the GPU may write to it, and is not the task's any more. */
  @Test
  void aGpuThatDoesNotAnswerIsAskedOnce() {
    CountDownLatch answers = new CountDownLatch(1);
    GpuCopies copies = copies(Duration.ofMillis(20));
    device.readAfter(answers);
    assertNull(open(copies, BYTES));
    assertMissed(1);
    assertEquals(0, memory.inAccount());
    assertEquals(1, memory.live());
    assertNull(open(copies, BYTES));
    Await.until("the read has begun", () -> device.reads().size() == 1);
    answers.countDown();
    Await.until("the memory is free", () -> memory.live() == 0);
  }

  @Test
  void whenAllThreadsWaitForTheGpuTheFileIsRead() {
    CountDownLatch answers = new CountDownLatch(1);
    copies();
    device.readAfter(answers);
    for (int lane = 0; lane < device.lanes(); lane++) {
      assertNull(open(new GpuCopies(gpu, memory, Duration.ofMillis(1)), BYTES));
    }
    assertNull(open(new GpuCopies(gpu, memory, Duration.ofSeconds(50)), BYTES));
    // Each read begins in a thread of its own, for which nobody has waited.
    Await.until("all reads have begun", () -> device.reads().size() == device.lanes());
    assertMissed(device.lanes() + 1);
    answers.countDown();
    Await.until("the memory is free", () -> memory.live() == 0);
  }

  @Test
  void aKilledTaskDoesNotWait() {
    CountDownLatch answers = new CountDownLatch(1);
    GpuCopies copies = copies();
    device.readAfter(answers);
    Thread.currentThread().interrupt();
    assertNull(open(copies, BYTES));
    assertTrue(Thread.interrupted());
    answers.countDown();
    Await.until("the memory is free", () -> memory.live() == 0);
  }
}
