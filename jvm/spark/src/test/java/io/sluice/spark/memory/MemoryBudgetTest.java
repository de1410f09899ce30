package io.sluice.spark.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class MemoryBudgetTest {
  /** 1600 bytes for 4 tasks: 1200 shared, a floor of 100 each. */
  private final MemoryBudget budget = new MemoryBudget(1600, 4);

  @Test
  void sharedPartIsFirstComeFirstServed() {
    assertEquals(100, budget.floorBytes());
    assertTrue(budget.tryReserve(1200, 0));
    assertFalse(budget.tryReserve(1, 1200));
    budget.release(200);
    assertTrue(budget.tryReserve(200, 1000));
    assertEquals(1200, budget.usedBytes());
  }

  @Test
  void aTaskBelowItsFloorIsServedWhenTheRestIsTaken() {
    assertTrue(budget.tryReserve(1200, 0));
    assertTrue(budget.tryReserve(60, 0));
    assertTrue(budget.tryReserve(40, 60));
    assertFalse(budget.tryReserve(1, 100));
    assertFalse(budget.tryReserve(101, 0));
  }

  @Test
  void releaseOfMoreThanInUseIsABug() {
    assertTrue(budget.tryReserve(10, 0));
    assertThrows(IllegalStateException.class, () -> budget.release(11));
  }

  @Test
  void waitEndsWithTheTimeout() throws InterruptedException {
    assertTrue(budget.tryReserve(1200, 0));
    long start = System.nanoTime();
    assertFalse(budget.reserve(500, 0, TimeUnit.MILLISECONDS.toNanos(50)));
    assertTrue(System.nanoTime() - start >= TimeUnit.MILLISECONDS.toNanos(50));
    assertEquals(1200, budget.usedBytes());
  }

  @Test
  void waitEndsWhenMemoryComesBack() throws Exception {
    assertTrue(budget.tryReserve(1200, 0));
    ExecutorService waiter = Executors.newSingleThreadExecutor();
    try {
      Future<Boolean> granted = waiter.submit(() -> budget.reserve(500, 0, TimeUnit.SECONDS.toNanos(50)));
      budget.release(400);
      budget.release(100);
      assertTrue(granted.get());
      assertEquals(1200, budget.usedBytes());
    } finally {
      waiter.shutdownNow();
    }
  }

  @Test
  void manyThreadsNeverExceedTheLimitAndAllProgress() throws Exception {
    int threads = 4;
    ExecutorService pool = Executors.newFixedThreadPool(threads);
    try {
      List<Future<Integer>> results = new ArrayList<>();
      for (int t = 0; t < threads; t++) {
        results.add(pool.submit(() -> {
          int granted = 0;
          for (int i = 0; i < 2_000; i++) {
            long bytes = ThreadLocalRandom.current().nextLong(1, 500);
            if (budget.reserve(bytes, 0, TimeUnit.SECONDS.toNanos(20))) {
              granted++;
              budget.release(bytes);
            }
          }
          return granted;
        }));
      }
      for (Future<Integer> result : results) {
        assertEquals(2_000, result.get());
      }
    } finally {
      pool.shutdownNow();
    }
    assertEquals(0, budget.usedBytes());
    assertTrue(budget.peakBytes() <= budget.limitBytes(), () -> "peak " + budget.peakBytes());
  }
}
