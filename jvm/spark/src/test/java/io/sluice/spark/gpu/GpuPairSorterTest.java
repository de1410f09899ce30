package io.sluice.spark.gpu;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.Await;
import io.sluice.spark.SluiceException;
import io.sluice.spark.conf.GpuUse;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import org.apache.spark.TaskContext$;
import org.apache.spark.TaskContextImpl;
import org.apache.spark.TaskKilledException;
import org.apache.spark.unsafe.Platform;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A task's pairs, on the heap and off it: sorted by the GPU, or left as they are, whatever happens. */
@Timeout(60)
class GpuPairSorterTest {
  private static final int COUNT = 100;
  private static final long SORTED = Platform.LONG_ARRAY_OFFSET + 2L * COUNT * Long.BYTES;

  private final Counters counters = new Counters();
  private final TestGpu device = new TestGpu(PairRange.bytes(COUNT));
  private final ExecutorGpu gpu = device.open(GpuUse.AUTO, counters);
  private final TaskContextImpl context = TaskContext$.MODULE$.empty();
  private final GpuPairSorter sorter = GpuPairSorter.of(Optional.of(gpu), context);
  /** Pairs, and room for sorted ones. */
  private final long[] pairs = pairs();

  @AfterEach
  void close() {
    gpu.close();
    assertEquals(0, device.openSorts());
  }

  /** The highest byte and the lowest are in the opposite order of the others, in which there are pairs of equals. */
  private static long[] pairs() {
    long[] pairs = new long[4 * COUNT];
    for (int i = 0; i < COUNT; i++) {
      pairs[2 * i] = 8L * i;
      pairs[2 * i + 1] = (long) -i << 56 | (COUNT - i) / 2 << 8 | i;
    }
    return pairs;
  }

  private boolean sort() {
    return sorter.sort(pairs, Platform.LONG_ARRAY_OFFSET, SORTED, COUNT, 1, 3);
  }

  private static void assertSorted(long[] pairs) {
    for (int i = 0; i < COUNT; i++) {
      long number = pairs[2 * COUNT + 2 * i + 1];
      assertEquals(8 * (number & 0xFF), pairs[2 * COUNT + 2 * i], "the address belongs to the number");
      if (i > 0) {
        long before = pairs[2 * COUNT + 2 * i - 1];
        boolean equal = (before >> 8 & 0xFFFF) == (number >> 8 & 0xFFFF);
        assertTrue(equal ? (before & 0xFF) < (number & 0xFF) : (before >> 8 & 0xFFFF) < (number >> 8 & 0xFFFF));
      }
    }
  }

  private void assertUntouched() {
    long[] before = pairs();
    for (int i = 0; i < 2 * COUNT; i++) {
      assertEquals(before[i], pairs[i]);
    }
  }

  @Test
  void pairsOnTheHeapAreSorted() {
    assertTrue(sort());
    assertUntouched();
    assertSorted(pairs);
    assertEquals(List.of(COUNT), device.sorts());
  }

  @Test
  void pairsOffTheHeapAreSorted() {
    long bytes = (long) pairs.length * Long.BYTES;
    long address = Platform.allocateMemory(bytes);
    try {
      Platform.copyMemory(pairs, Platform.LONG_ARRAY_OFFSET, null, address, bytes);
      assertTrue(sorter.sort(null, address, address + PairRange.bytes(COUNT), COUNT, 1, 3));
      Platform.copyMemory(null, address, pairs, Platform.LONG_ARRAY_OFFSET, bytes);
    } finally {
      Platform.freeMemory(address);
    }
    assertUntouched();
    assertSorted(pairs);
  }

  @Test
  void fewPairsAndOtherArraysAreNotOffered() {
    assertFalse(sorter.sort(pairs, Platform.LONG_ARRAY_OFFSET, SORTED, COUNT - 1, 1, 3));
    assertFalse(sorter.sort(new byte[64 * COUNT], Platform.BYTE_ARRAY_OFFSET, SORTED, COUNT, 1, 3));
    sorter.sortedByTask(COUNT - 1, 1, 3, 1000);
    assertEquals(List.of(), device.sorts());
    assertEquals(List.of(), device.sortsByTasks());
    sorter.sortedByTask(COUNT, 1, 3, 1000);
    assertEquals(List.of(COUNT), device.sortsByTasks());
  }

  @Test
  void whatTheGpuDoesNotSortStaysAsItWas() {
    for (TestGpu.Sorts does : List.of(TestGpu.Sorts.NONE, TestGpu.Sorts.FAILS)) {
      device.sorting(does);
      assertFalse(sort());
      assertUntouched();
    }
    assertEquals(List.of(COUNT, COUNT), device.sorts());
    device.refuseStatistics();
    assertFalse(sort());
    sorter.sortedByTask(COUNT, 1, 3, 1000);
    assertEquals(2, device.sorts().size());
  }

  @Test
  void withoutAnIdleThreadTheTaskSorts() {
    CountDownLatch busy = new CountDownLatch(1);
    for (int i = 0; i < device.lanes(); i++) {
      gpu.trySubmit(PairRange.bytes(COUNT), 1, 1, () -> {
        busy.await();
        return null;
      });
    }
    assertFalse(sort());
    assertEquals(1, counters.get(Counter.GPU_BUSY));
    busy.countDown();
  }

  /** The thread of the GPU is held up; when it goes on, the task's memory is another's. */
  @Test
  void aDriverThatDoesNotReturnDoesNotHoldUpTheTask() {
    CountDownLatch heldUp = new CountDownLatch(1);
    device.sortAfter(heldUp);
    Thread lost = new Thread(() -> {
      Await.until("the sort begins", () -> !device.sorts().isEmpty());
      device.lose("a test");
    });
    lost.start();
    assertFalse(sort());
    assertEquals(0, device.openSorts());
    assertUntouched();
    long[] copy = pairs.clone();
    heldUp.countDown();
    gpu.close();
    assertArrayEquals(copy, pairs);
    assertFalse(sort(), "after the end");
  }

  @Test
  void aKilledTaskDoesNotWait() {
    CountDownLatch heldUp = new CountDownLatch(1);
    device.sortAfter(heldUp);
    Thread kills = new Thread(() -> {
      Await.until("the sort begins", () -> !device.sorts().isEmpty());
      context.markInterrupted("a test");
    });
    kills.start();
    assertThrows(TaskKilledException.class, this::sort);
    assertEquals(0, device.openSorts());
    assertThrows(TaskKilledException.class, this::sort, "it does not begin");
    assertEquals(1, device.sorts().size());
    heldUp.countDown();
  }

  @Test
  void anInterruptedThreadDoesNotWait() {
    CountDownLatch heldUp = new CountDownLatch(1);
    device.sortAfter(heldUp);
    Thread.currentThread().interrupt();
    assertThrows(SluiceException.class, this::sort);
    assertTrue(Thread.interrupted());
    heldUp.countDown();
  }

  @Test
  void aTaskWithoutAGpuSortsItself() {
    assertFalse(GpuPairSorter.NONE.sort(pairs, Platform.LONG_ARRAY_OFFSET, SORTED, COUNT, 1, 3));
    GpuPairSorter.NONE.sortedByTask(COUNT, 1, 3, 1000);
    assertFalse(GpuPairSorter.of(Optional.empty(), context).sort(null, 8, 8, 1 << 28, 0, 7));
  }
}
