package io.sluice.spark.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.memory.MemoryBudget.Share;
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
  private final List<Long> permitted = new ArrayList<>();
  private long scratchBytes;
  /** 1600 bytes for 4 tasks: 1200 shared, a floor of 100 each; 2000 for a task alone. */
  private final MemoryBudget budget = new MemoryBudget(1600, 2000, 4, permitted::add, () -> scratchBytes);
  private final Share task = budget.newShare();
  private final Share other = budget.newShare();

  private boolean reader(Share share, long bytes) {
    return budget.tryReserve(share, bytes, Claim.READER);
  }

  private boolean alone(Share share, long bytes) {
    return budget.tryReserve(share, bytes, Claim.ALONE);
  }

  @Test
  void sharedPartIsFirstComeFirstServed() {
    assertEquals(100, budget.floorBytes());
    assertTrue(budget.tryReserve(task, 1200, Claim.RESIDENT));
    assertFalse(budget.tryReserve(other, 1, Claim.RESIDENT));
    budget.release(task, 200);
    assertTrue(budget.tryReserve(other, 200, Claim.RESIDENT));
    assertEquals(1200, budget.usedBytes());
  }

  @Test
  void scratchMemoryCountsAgainstTheSharedPartAndTheCeiling() {
    scratchBytes = 300;
    assertFalse(budget.tryReserve(task, 901, Claim.RESIDENT));
    assertTrue(budget.tryReserve(task, 900, Claim.RESIDENT));
    assertTrue(reader(other, 100), "floors are always there");
    budget.release(other, 100);
    assertFalse(alone(task, 801));
    assertTrue(alone(task, 800));
    budget.release(task, 800);
    scratchBytes = 5000;
    assertFalse(alone(task, 701), "scratch memory leaves nothing above the limit");
    assertTrue(alone(task, 700), "the limit is a lone task's");
    budget.release(task, 1600);
    assertFalse(budget.tryReserve(task, 601, Claim.RESIDENT), "half of the shared part is left");
    assertTrue(budget.tryReserve(task, 600, Claim.RESIDENT));
    assertTrue(reader(task, 100));
    assertEquals(700, budget.usedBytes());
  }

  @Test
  void tasksThatWaitAreGrantedTheSharedPartWithoutADeductionForScratchMemory() {
    scratchBytes = 5000;
    assertTrue(reader(other, 100));
    assertFalse(reader(task, 1000));
    assertTrue(alone(task, 1000), "two tasks that hold readers' memory must not wait for each other");
  }

  @Test
  void everyTaskHasItsFloorOnTopOfWhatItHasOfTheSharedPart() {
    assertTrue(reader(task, 1200));
    for (Share share : List.of(task, other, budget.newShare(), budget.newShare())) {
      assertTrue(reader(share, 60));
      assertTrue(reader(share, 40));
      assertFalse(reader(share, 1));
    }
    assertEquals(1600, budget.usedBytes());
    assertFalse(reader(budget.newShare(), 1), "there are no more floors than cores");
  }

  /** So that a reader on another thread than the writer's can always go on. */
  @Test
  void aWriterLeavesHalfOfTheFloorToTheReadersOfItsTask() {
    assertTrue(budget.tryReserve(task, 1200, Claim.WRITER));
    assertTrue(budget.tryReserve(task, 50, Claim.WRITER));
    assertFalse(budget.tryReserve(task, 1, Claim.WRITER));
    assertTrue(reader(task, 50));
  }

  @Test
  void releasedBytesAreCreditedToTheFloorFirst() {
    assertTrue(reader(task, 1200) && reader(task, 100));
    budget.release(task, 100);
    assertTrue(reader(task, 100), "the floor is free again");
    assertFalse(reader(other, 101));
  }

  @Test
  void aRequestMayTakeFromBothParts() {
    assertTrue(reader(task, 1000));
    assertTrue(reader(task, 290));
    assertEquals(1290, budget.usedBytes());
    budget.release(task, 1290);
    assertEquals(0, budget.usedBytes());
  }

  @Test
  void aTaskAloneMayTakeTheWholeLimitAndOthersAreRefusedMeanwhile() {
    assertTrue(reader(task, 700));
    assertFalse(reader(task, 900));
    assertTrue(alone(task, 900));
    assertEquals(List.of(), permitted);
    assertFalse(reader(other, 1), "the rest is not there for others' floors now");
    assertFalse(budget.tryReserve(other, 1, Claim.RESIDENT));
    budget.release(task, 900);
    assertTrue(reader(other, 100));
  }

  @Test
  void aTaskThatIsNotAloneHasNoMoreThanItsShare() {
    assertTrue(reader(other, 1));
    assertFalse(alone(task, 1400));
    budget.release(other, 1);
    assertTrue(alone(task, 1400));
  }

  @Test
  void aTaskAloneMayExceedTheLimitUpToTheCeilingAndTheArenaIsTold() {
    assertTrue(reader(task, 600));
    assertFalse(alone(task, 1401), "more than the ceiling");
    assertTrue(alone(task, 1400));
    assertEquals(List.of(2000L), permitted);
    budget.release(task, 500);
    budget.release(task, 100);
    assertEquals(List.of(2000L, 1600L), permitted, "back at the limit once, with 1400 in use below it");
    assertTrue(budget.peakBytes() <= budget.ceilingBytes());
  }

  /** Each holds a frame and needs a batch as large: without an order both would wait for the other. */
  @Test
  void largeRequestsAreOneTasksAtATime() {
    assertTrue(reader(task, 400));
    assertFalse(reader(other, 400));
    assertTrue(reader(other, 100), "small requests of any task are granted");
    assertTrue(reader(task, 500));
    budget.release(task, 500);
    assertFalse(reader(other, 400), "one large piece is still there");
    budget.release(task, 400);
    assertTrue(reader(other, 400));
  }

  @Test
  void releaseOfMoreThanTheTaskHoldsIsABug() {
    assertTrue(reader(task, 10) && reader(other, 10));
    assertThrows(IllegalStateException.class, () -> budget.release(task, 11));
  }

  @Test
  void knowsWhetherATaskIsAlone() {
    assertTrue(budget.isAlone(task));
    assertTrue(reader(task, 10));
    assertTrue(budget.isAlone(task));
    assertFalse(budget.isAlone(other));
  }

  @Test
  void waitEndsWithTheTimeout() throws InterruptedException {
    assertTrue(reader(task, 1200));
    long start = System.nanoTime();
    assertFalse(budget.reserve(other, 500, Claim.READER, TimeUnit.MILLISECONDS.toNanos(50)));
    assertTrue(System.nanoTime() - start >= TimeUnit.MILLISECONDS.toNanos(50));
    assertEquals(1200, budget.usedBytes());
  }

  @Test
  void waitEndsWhenMemoryComesBack() throws Exception {
    assertTrue(reader(task, 1200));
    ExecutorService waiter = Executors.newSingleThreadExecutor();
    try {
      Future<Boolean> granted =
          waiter.submit(() -> budget.reserve(other, 500, Claim.READER, TimeUnit.SECONDS.toNanos(50)));
      budget.release(task, 700);
      budget.release(task, 500);
      assertTrue(granted.get());
      assertEquals(500, budget.usedBytes());
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
        results.add(pool.submit(() -> grantsOf(budget.newShare())));
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

  /** Two pieces at a time, as a reader holds a frame and a batch. */
  private int grantsOf(Share share) throws InterruptedException {
    int granted = 0;
    for (int i = 0; i < 2_000; i++) {
      long first = ThreadLocalRandom.current().nextLong(1, 500);
      long second = ThreadLocalRandom.current().nextLong(1, 500);
      if (budget.reserve(share, first, Claim.ALONE, TimeUnit.SECONDS.toNanos(20))
          && budget.reserve(share, second, Claim.ALONE, TimeUnit.SECONDS.toNanos(20))) {
        granted++;
        budget.release(share, second);
        budget.release(share, first);
      }
    }
    return granted;
  }
}
