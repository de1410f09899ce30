package io.sluice.spark.cleanup;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.Await;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What the driver has removed, and how executors learn it. */
@Timeout(90)
class OutputRemovalsTest {
  private final OutputRemovals removals = new OutputRemovals();

  @Test
  void anExecutorGetsWhatItHasNotSeen() {
    assertArrayEquals(new long[] {0}, removals.since(0));
    removals.add(5, 50);
    removals.add(6, 60);
    assertArrayEquals(new long[] {2, 5, 50, 6, 60}, removals.since(0));
    assertArrayEquals(new long[] {2, 6, 60}, removals.since(1));
    assertArrayEquals(new long[] {2}, removals.since(2));
    assertArrayEquals(new long[] {2}, removals.since(99), "of another driver");
  }

  @Test
  void onlyTheLastAreKept() {
    for (int i = 0; i < 12_000; i++) {
      removals.add(i, i);
    }
    long[] all = removals.since(0);
    assertEquals(1 + 2 * 10_000, all.length);
    assertEquals(12_000, all[0]);
    assertEquals(2_000, all[1]);
    assertEquals(11_999, all[all.length - 1]);
  }

  @Test
  void aPollAppliesEachRemovalOnceAndGoesOnAfterAFailure() {
    List<String> applied = new CopyOnWriteArrayList<>();
    AtomicInteger asked = new AtomicInteger();
    removals.add(5, 50);
    try (RemovalPoll poll = RemovalPoll.start(message -> {
      if (asked.incrementAndGet() == 1) {
        throw new IllegalStateException("the driver is busy");
      }
      return removals.since(((RemovalRequest) message).from());
    }, true, (shuffleId, lastMapId) -> applied.add(shuffleId + " up to " + lastMapId),
        shuffleId -> applied.add(shuffleId + " unmoved"))) {
      Await.until("the first is applied", () -> applied.size() == 1);
      removals.add(6, 60);
      removals.addUnmoved(7);
      removals.add(8, -1);
      Await.until("the others are applied", () -> applied.size() == 4);
    }
    assertEquals(List.of("5 up to 50", "6 up to 60", "7 unmoved", "8 up to -1"), applied);
  }

  /** Here the first pause is the shorter one, so that the test need not wait for the longer. */
  @Test
  void theFirstRemovalChangesThePause() throws InterruptedException {
    AtomicInteger asked = new AtomicInteger();
    AtomicInteger applied = new AtomicInteger();
    try (RemovalPoll poll = RemovalPoll.start(message -> {
      asked.incrementAndGet();
      return removals.since(((RemovalRequest) message).from());
    }, 1, (shuffleId, lastMapId) -> applied.incrementAndGet(), shuffleId -> {})) {
      Await.until("it asks though nothing is removed", () -> asked.get() >= 50);
      removals.add(5, 50);
      Await.until("it has removed it", () -> applied.get() == 1);
      int before = asked.get();
      TimeUnit.MILLISECONDS.sleep(300);
      assertTrue(asked.get() - before < 20, () -> asked.get() - before + " questions in 0.3 s");
    }
  }
}
