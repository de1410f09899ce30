package io.sluice.spark.cleanup;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class WrittenOutputsTest {
  private final WrittenOutputs written = new WrittenOutputs();

  @Test
  void aRemovalReturnsWhatWasWritten() {
    written.begin(1, 10);
    written.begin(1, 11);
    written.begin(2, 12);
    assertEquals(Set.of(10L, 11L), written.removeShuffle(1));
    assertEquals(Set.of(), written.removeShuffle(1));
    assertEquals(1, written.shuffles());
    assertEquals(Set.of(12L), written.removeShuffle(2));
    assertEquals(0, written.shuffles());
  }

  @Test
  void aTaskLearnsThatItsShuffleWasRemoved() {
    WrittenOutputs.Output before = written.begin(1, 10);
    assertFalse(before.isRemoved());
    written.removeShuffle(1);
    assertTrue(before.isRemoved());
    assertFalse(written.begin(1, 11).isRemoved(), "computed again");
    assertTrue(before.isRemoved());
  }

  @Test
  void outputsOfLaterTasksStay() {
    WrittenOutputs.Output old = written.begin(1, 10);
    written.begin(1, 11);
    WrittenOutputs.Output later = written.begin(1, 12);
    assertEquals(Set.of(10L, 11L), written.removeUpTo(1, 11));
    assertEquals(Set.of(), written.removeUpTo(1, 11));
    assertTrue(old.isRemoved());
    assertFalse(later.isRemoved());
    assertEquals(Set.of(12L), written.removeShuffle(1));
    assertTrue(later.isRemoved());
    assertEquals(Set.of(), written.removeUpTo(7, 100), "never written here");
  }

  /** Each output is deleted by a removal or by its own task; nothing is left to neither. */
  @Test
  void noOutputIsLeftByARace() throws InterruptedException {
    for (int round = 0; round < 200; round++) {
      WrittenOutputs outputs = new WrittenOutputs();
      Set<Long> deleted = java.util.concurrent.ConcurrentHashMap.newKeySet();
      CountDownLatch start = new CountDownLatch(1);
      List<Thread> tasks = new ArrayList<>();
      for (long mapId = 0; mapId < 4; mapId++) {
        long id = mapId;
        tasks.add(new Thread(() -> {
          await(start);
          WrittenOutputs.Output output = outputs.begin(1, id);
          Thread.yield();
          if (output.isRemoved()) {
            deleted.add(id);
          }
        }));
      }
      tasks.forEach(Thread::start);
      start.countDown();
      Thread.yield();
      deleted.addAll(outputs.removeShuffle(1));
      for (Thread task : tasks) {
        task.join();
      }
      deleted.addAll(outputs.removeShuffle(1));
      assertEquals(new HashSet<>(List.of(0L, 1L, 2L, 3L)), deleted);
    }
  }

  private static void await(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
