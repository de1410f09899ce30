package io.sluice.spark.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.nativebridge.Lease;
import io.sluice.nativebridge.NativeCore;
import io.sluice.nativebridge.NativeLibrary;
import io.sluice.spark.Await;
import io.sluice.spark.InAll;
import io.sluice.spark.LocalSpark;
import io.sluice.spark.SluiceException;
import io.sluice.spark.SluiceShuffleManager;
import io.sluice.spark.executor.ExecutorState;
import org.apache.spark.SparkEnv;
import io.sluice.spark.metrics.Counter;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaFutureAction;
import org.apache.spark.api.java.JavaSparkContext;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A task's account, in real tasks. The limit is 16 MiB for two cores: 12 shared, a floor of 2 for each task. */
@Timeout(180)
class TaskMemoryTest {
  private static final long MIB = 1 << 20;
  /** Far from what any test needs; some of them lower it, and the arena is the process's. */
  private static final long ARENA_LIMIT = 1 << 30;

  /** What the tasks below do; runs in this process, so it may talk to the test through statics. */
  interface Body {
    void run(TaskMemory memory, ExecutorState executor) throws Exception;
  }

  private static volatile Body body;
  private static volatile CountDownLatch inTask;
  private LocalSpark spark;

  private void start(String key, String value) {
    // The class may be the first of its process.
    NativeLibrary.Status library = NativeLibrary.load("");
    assertTrue(library.available(), library.detail());
    // Threads of the classes before may not have ended, and the scratch memory of their decoders counts.
    Await.until("no thread has scratch memory", () -> NativeCore.scratchBytes() == 0);
    spark = LocalSpark.start(Map.of("spark.sluice.memory.limit", "16m", "spark.task.maxFailures", "1", key, value));
  }

  @AfterEach
  void stop() {
    body = null;
    spark.close();
    NativeCore.setMemoryLimit(ARENA_LIMIT);
    assertEquals(0, NativeCore.leasedBytes());
    assertEquals(0, NativeCore.checkArena());
  }

  private JavaFutureAction<Void> submit(int tasks, Body task) {
    body = task;
    return JavaSparkContext.fromSparkContext(spark.session().sparkContext())
        .parallelize(java.util.stream.IntStream.range(0, tasks).boxed().toList(), tasks)
        .foreachPartitionAsync(rows -> {
          ExecutorState executor = ((SluiceShuffleManager) SparkEnv.get().shuffleManager()).executorState();
          body.run(executor.memory().of(TaskContext.get()), executor);
        });
  }

  private void run(Body task) throws Exception {
    submit(1, task).get();
  }

  private String failure(Body task) {
    return assertThrows(ExecutionException.class, () -> run(task)).getCause().getMessage();
  }

  @Test
  void countsWhatTheTaskHolds() throws Exception {
    start("spark.sluice.memory.failOnLeak", "true");
    run((memory, executor) -> {
      assertSame(memory, executor.memory().of(TaskContext.get()));
      Lease lease = memory.tryLease(MIB);
      assertTrue(memory.tryReserve(100));
      assertEquals(MIB + 100, memory.heldBytes());
      assertEquals(MIB + 100, executor.memory().budget().usedBytes());
      memory.freeKeepingQuota(lease);
      memory.unreserve(MIB + 100);
      assertEquals(0, memory.heldBytes());
      assertEquals(MIB + 100, memory.peakBytes());
      assertThrows(IllegalStateException.class, () -> memory.unreserve(1));
    });
    assertEquals(0, spark.manager().executorState().memory().budget().usedBytes());
  }

  @InAll
  @Test
  void memoryThatNoTaskUsesIsGivenBackToTheSystem() throws Exception {
    start("spark.sluice.memory.failOnLeak", "true");
    run((memory, executor) -> {
      memory.free(memory.tryLease(8 * MIB));
      assertTrue(NativeCore.arenaStatistics().touchedBytes() >= 8 * MIB);
    });
    Await.until("the arena has no pages", () -> NativeCore.arenaStatistics().touchedBytes() == 0);
    run((memory, executor) -> memory.free(memory.tryLease(8 * MIB)));
    Await.until("the arena has no pages again", () -> NativeCore.arenaStatistics().touchedBytes() == 0);
  }

  /** With a timeout that is longer than this test may take. */
  @Test
  void whatCanNeverFitIsRefusedAtOnceWithTheSettingToRaise() {
    start("spark.sluice.memory.waitTimeout", "1h");
    String tooLarge = failure((memory, executor) -> memory.lease(17 * MIB, "a test row"));
    assertTrue(tooLarge.contains("a test row needs " + 17 * MIB + " bytes of memory at once")
        && tooLarge.contains("raise spark.sluice.memory.limit"), tooLarge);
    assertEquals(0, spark.counter(Counter.MEMORY_TIMEOUTS));
    assertEquals(0, spark.counter(Counter.MEMORY_WAITS));
  }

  @Test
  void aWaitThatIsOverSaysWhatToRaise() {
    start("spark.sluice.memory.waitTimeout", "100ms");
    String timeout = failure((memory, executor) -> {
      Lease most = memory.tryLease(12 * MIB);
      Lease floor = memory.tryLease(2 * MIB);
      assertNull(memory.tryLease(MIB));
      try {
        memory.lease(3 * MIB, "one more");
      } finally {
        memory.free(most);
        memory.free(floor);
      }
    });
    assertTrue(timeout.contains("one more") && timeout.contains("spark.sluice.memory.waitTimeout = 100 ms"), timeout);
    assertEquals(1, spark.counter(Counter.MEMORY_TIMEOUTS));
  }

  @Test
  void asksItsOwnSpillableFirst() throws Exception {
    start("spark.sluice.memory.failOnLeak", "true");
    run((memory, executor) -> {
      Lease most = memory.tryLease(12 * MIB);
      memory.setSpillable(bytes -> {
        assertEquals(3 * MIB, bytes);
        assertNull(memory.tryLease(12 * MIB), "spilling is not re-entered");
        memory.free(most);
        return 12 * MIB;
      });
      Lease next = memory.tryLease(3 * MIB);
      assertNotNull(next);
      memory.free(next);
      memory.setSpillable(null);
    });
  }

  /** Whichever thread asked for memory first: rows may be pulled by another thread than the one that writes. */
  @Test
  void onlyTheThreadThatRegistersASpillableIsAskedToSpill() throws Exception {
    start("spark.sluice.memory.failOnLeak", "true");
    run((memory, executor) -> {
      Deque<Lease> held = new ArrayDeque<>();
      Thread writer = new Thread(() -> {
        held.add(memory.tryLease(12 * MIB));
        memory.setSpillable(bytes -> {
          memory.free(held.pop());
          return 12 * MIB;
        });
      });
      writer.start();
      writer.join();
      assertNull(memory.tryLease(3 * MIB), "this thread opened the account, but does not write");
      Lease floor = memory.tryLease(2 * MIB);
      assertNotNull(floor, "but a reader can always have the floor");
      memory.free(floor);
      memory.free(held.pop());
    });
    run((memory, executor) -> {
      Deque<Lease> held = new ArrayDeque<>();
      Thread reader = new Thread(() -> memory.free(memory.tryLease(MIB)));
      reader.start();
      reader.join();
      held.add(memory.tryLease(12 * MIB));
      memory.setSpillable(bytes -> {
        memory.free(held.pop());
        return 12 * MIB;
      });
      memory.free(memory.tryLease(3 * MIB));
      memory.setSpillable(null);
    });
  }

  @Test
  void aTaskAloneHasTheWholeLimit() throws Exception {
    start("spark.sluice.memory.failOnLeak", "true");
    run((memory, executor) -> {
      memory.free(memory.lease(16 * MIB - 1, "a row as large as the limit"));
      Lease frame = memory.lease(8 * MIB, "a frame");
      memory.free(memory.lease(7 * MIB, "a batch"));
      memory.free(frame);
    });
    assertEquals(0, spark.counter(Counter.MEMORY_BEYOND_LIMIT));
  }

  /**
   * No other task will ever free the missing memory, so the task must fail before the default time-out of two minutes.
   */
  @Test
  void whatCanNeverBeGrantedFailsWithoutTheTimeout() {
    start("spark.sluice.memory.waitTimeout", "1h");
    String message = failure((memory, executor) -> {
      Lease frame = memory.lease(10 * MIB, "a frame");
      try {
        memory.lease(8 * MIB, "a batch");
      } finally {
        memory.free(frame);
      }
    });
    assertTrue(
        message.contains("a batch needs 8388608 bytes") && message.contains("beside 10485760 that the task holds")
            && message.contains("raise spark.sluice.memory.limit"),
        message);
  }

  /** It may still have rows in a queue to work on, and give memory back when it is short itself. */
  @Test
  void aWriterOnAnotherThreadIsWaitedFor() throws Exception {
    start("spark.sluice.memory.failOnLeak", "true");
    run((memory, executor) -> {
      CountDownLatch holds = new CountDownLatch(1);
      Thread writer = new Thread(() -> {
        Lease rows = memory.tryLease(10 * MIB);
        memory.setSpillable(bytes -> 0);
        holds.countDown();
        Await.until("the reader waits", () -> executor.counters().get(Counter.MEMORY_WAITS) > 0);
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(2_500));
        memory.free(rows);
      });
      writer.start();
      holds.await();
      memory.free(memory.lease(8 * MIB, "a batch"));
      writer.join();
      memory.setSpillable(null);
    });
  }

  @Test
  void rowsCarryTheQuotaThatEncodingThemNeeds() throws Exception {
    start("spark.sluice.memory.failOnLeak", "true");
    run((memory, executor) -> {
      Lease page = memory.tryLeaseForRows(4 * MIB, 5 * MIB);
      assertEquals(9 * MIB, memory.heldBytes());
      assertEquals(9 * MIB, executor.memory().budget().usedBytes());
      assertNull(memory.tryLeaseForRows(3 * MIB, 2 * MIB));
      memory.free(page);
      memory.unreserve(5 * MIB);
      assertEquals(0, memory.heldBytes());
    });
  }

  @Test
  void autoLetsATaskAloneExceedTheLimit() throws Exception {
    spark = LocalSpark.start(Map.of("spark.task.maxFailures", "1"));
    run((memory, executor) -> {
      long limit = executor.settings().memory().limit().bytes();
      Lease large = memory.lease(limit + MIB, "a row larger than the limit");
      assertTrue(NativeCore.leasedBytes() > limit);
      memory.free(large);
      Lease.tryTake(limit / 2).close();
      assertNull(Lease.tryTake(limit + MIB), "the arena's limit is the executor's again");
    });
    assertEquals(1, spark.counter(Counter.MEMORY_BEYOND_LIMIT));
  }

  @Test
  void asksItsOwnSpillableWhenTheArenaRefusesWhatTheQuotaGrants() throws Exception {
    start("spark.sluice.memory.failOnLeak", "true");
    run((memory, executor) -> {
      NativeCore.setMemoryLimit(8 * MIB);
      Lease most = memory.tryLease(6 * MIB);
      assertNull(memory.tryLease(5 * MIB), "there is no other task to spill");
      memory.setSpillable(bytes -> {
        assertEquals(5 * MIB, bytes);
        assertEquals(6 * MIB, executor.memory().budget().usedBytes(), "what was refused counts no more");
        memory.free(most);
        return 6 * MIB;
      });
      assertNull(memory.tryLeaseResident(5 * MIB, 16 * MIB), "no room");
      assertEquals(6 * MIB, memory.heldBytes(), "what stays asked somebody");
      Lease next = memory.tryLease(5 * MIB);
      assertNotNull(next);
      memory.free(next);
      memory.setSpillable(null);
    });
  }

  @Test
  void asksItsOwnSpillableAgainWhileItWaitsForTheArena() throws Exception {
    start("spark.sluice.memory.failOnLeak", "true");
    run((memory, executor) -> {
      NativeCore.setMemoryLimit(8 * MIB);
      Deque<Lease> held = new ArrayDeque<>(List.of(memory.tryLease(3 * MIB), memory.tryLease(3 * MIB)));
      memory.setSpillable(bytes -> {
        if (held.isEmpty()) {
          return 0;
        }
        memory.free(held.pop());
        return 3 * MIB;
      });
      memory.free(memory.lease(6 * MIB, "more than one spill gives"));
      memory.setSpillable(null);
    });
  }

  @Test
  void waitsForTheArenaWithoutAskingItAllTheTime() throws Exception {
    start("spark.sluice.memory.failOnLeak", "true");
    run((memory, executor) -> {
      NativeCore.setMemoryLimit(8 * MIB);
      Lease others = Lease.tryTake(6 * MIB);
      Thread other = new Thread(() -> {
        Await.until("the task waits", () -> executor.counters().get(Counter.MEMORY_WAITS) > 0);
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(300));
        others.close();
      });
      other.start();
      memory.free(memory.lease(5 * MIB, "what the others hold"));
      other.join();
    });
    long refusals = spark.counter(Counter.MEMORY_REFUSALS);
    assertTrue(refusals < 100, refusals + " refusals in a third of a second");
  }

  @Test
  void waitingForTheArenaEndsInTime() {
    start("spark.sluice.memory.waitTimeout", "100ms");
    String timeout = failure((memory, executor) -> {
      NativeCore.setMemoryLimit(8 * MIB);
      try (Lease others = Lease.tryTake(6 * MIB)) {
        memory.lease(5 * MIB, "what the others hold");
      }
    });
    assertTrue(timeout.contains("what the others hold"), timeout);
    assertEquals(1, spark.counter(Counter.MEMORY_TIMEOUTS));
  }

  @Test
  void residentLeasesDoNotTakeTheFloor() throws Exception {
    start("spark.sluice.memory.failOnLeak", "true");
    run((memory, executor) -> {
      Lease stays = memory.tryLeaseResident(11 * MIB, 12 * MIB);
      assertNull(memory.tryLeaseResident(2 * MIB, 12 * MIB), "more than the task may keep");
      Lease rest = memory.tryLeaseResident(MIB, 12 * MIB);
      Lease floor = memory.tryLease(2 * MIB);
      assertNotNull(floor);
      assertNull(memory.tryLease(MIB));
      assertNull(memory.tryLeaseResident(MIB, 16 * MIB), "the floor is not for what stays");
      assertEquals(14 * MIB, memory.heldBytes());
      List.of(stays, rest, floor).forEach(memory::free);
      Lease again = memory.tryLeaseResident(12 * MIB, 12 * MIB);
      assertNotNull(again);
      memory.free(again);
      assertEquals(0, memory.heldBytes());
    });
  }

  @Test
  void waitsForAnotherTask() throws Exception {
    start("spark.sluice.memory.failOnLeak", "true");
    inTask = new CountDownLatch(1);
    submit(2, (memory, executor) -> {
      if (TaskContext.getPartitionId() == 0) {
        Lease most = memory.lease(12 * MIB, "most");
        inTask.countDown();
        // Frees only when the other is seen waiting, so that the wait is real.
        Await.until("the other task waits", () -> executor.counters().get(Counter.MEMORY_WAITS) > 0);
        memory.free(most);
      } else {
        inTask.await();
        memory.free(memory.lease(5 * MIB, "after the other"));
      }
    }).get();
    assertEquals(1, spark.counter(Counter.MEMORY_WAITS));
    assertEquals(0, spark.counter(Counter.MEMORY_TIMEOUTS));
  }

  @Test
  void killedTaskStopsWaiting() throws Exception {
    start("spark.sluice.memory.waitTimeout", "1h");
    inTask = new CountDownLatch(1);
    JavaFutureAction<Void> job = submit(1, (memory, executor) -> {
      memory.tryLease(12 * MIB);
      NativeCore.setMemoryLimit(12 * MIB);
      inTask.countDown();
      memory.lease(2 * MIB, "never");
    });
    inTask.await();
    job.cancel(true);
    ExecutorState executor = spark.manager().executorState();
    // The kill frees what the task held, a leak on purpose here, and counts it after it has freed it.
    Await.until("the leak is counted", () -> executor.counters().get(Counter.MEMORY_LEAKED_BYTES) > 0);
    assertEquals(12 * MIB, spark.counter(Counter.MEMORY_LEAKED_BYTES));
    assertEquals(0, executor.memory().budget().usedBytes());
  }

  @Test
  void leakFailsTheTaskWhenAsked() {
    start("spark.sluice.memory.failOnLeak", "true");
    String message = failure((memory, executor) -> memory.tryLease(MIB));
    assertTrue(message.contains("1 leases open, 1048576 bytes held"), message);
  }

  @Test
  void leakIsFreedAndCountedOtherwise() throws Exception {
    start("spark.sluice.memory.failOnLeak", "false");
    run((memory, executor) -> {
      memory.tryLease(MIB);
      memory.tryReserve(MIB);
    });
    assertEquals(1, spark.counter(Counter.MEMORY_LEAKED_LEASES));
    assertEquals(2 * MIB, spark.counter(Counter.MEMORY_LEAKED_BYTES));
    assertEquals(0, spark.manager().executorState().memory().budget().usedBytes());
  }

  @Test
  void detachedLeaseOutlivesTheTask() throws Exception {
    start("spark.sluice.memory.failOnLeak", "true");
    List<Lease> kept = new java.util.concurrent.CopyOnWriteArrayList<>();
    run((memory, executor) -> {
      Lease lease = memory.tryLease(MIB);
      memory.detach(lease);
      assertEquals(0, memory.heldBytes());
      kept.add(lease);
    });
    assertTrue(NativeCore.leasedBytes() >= MIB);
    kept.get(0).close();
  }

  @Test
  void endedTaskGetsNothing() throws Exception {
    start("spark.sluice.memory.failOnLeak", "true");
    List<TaskMemory> ended = new java.util.concurrent.CopyOnWriteArrayList<>();
    run((memory, executor) -> ended.add(memory));
    assertThrows(SluiceException.class, () -> ended.get(0).tryLease(MIB));
    assertEquals(0, spark.manager().executorState().memory().budget().usedBytes());
  }

  @Test
  void freesFromOtherThreads() throws Exception {
    start("spark.sluice.memory.failOnLeak", "true");
    run((memory, executor) -> {
      ExecutorService others = Executors.newFixedThreadPool(3);
      try {
        for (int i = 0; i < 300; i++) {
          Lease lease = memory.lease(MIB, "a lease to hand over");
          Future<?> freed = others.submit(() -> memory.free(lease));
          if (i % 10 == 0) {
            freed.get();
          }
        }
      } finally {
        others.shutdown();
        assertTrue(others.awaitTermination(60, TimeUnit.SECONDS));
      }
      assertEquals(0, memory.heldBytes());
    });
  }

  @Test
  void sparksOffHeapMemoryIsUsedWhenEnabled() throws Exception {
    spark = LocalSpark.start(Map.of("spark.memory.offHeap.enabled", "true", "spark.memory.offHeap.size", "16m"));
    run((memory, executor) -> {
      Lease lease = memory.tryLease(4 * MIB);
      assertEquals(4 * MIB, TaskContext.get().taskMemoryManager().getMemoryConsumptionForThisTask());
      assertEquals(0, executor.memory().budget().usedBytes());
      assertNull(memory.tryLease(16 * MIB));
      memory.free(lease);
      assertEquals(0, TaskContext.get().taskMemoryManager().getMemoryConsumptionForThisTask());
      SluiceException tooLarge = assertThrows(SluiceException.class, () -> memory.lease(17 * MIB, "a test row"));
      assertTrue(tooLarge.getMessage().contains("spark.memory.offHeap.size"), tooLarge.getMessage());
    });
  }
}
