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
    }, (shuffleId, lastMapId) -> applied.add(shuffleId + " up to " + lastMapId),
        shuffleId -> applied.add(shuffleId + " unmoved"))) {
      Await.until("the first is applied", () -> applied.size() == 1);
      removals.add(6, 60);
      removals.addUnmoved(7);
      removals.add(8, -1);
      Await.until("the others are applied", () -> applied.size() == 4);
    }
    assertEquals(List.of("5 up to 50", "6 up to 60", "7 unmoved", "8 up to -1"), applied);
  }

  @Test
  void theDriverIsAskedSeldomWhileNothingIsRemoved() {
    List<Long> nanos = new CopyOnWriteArrayList<>();
    AtomicInteger applied = new AtomicInteger();
    try (RemovalPoll poll = RemovalPoll.start(message -> {
      nanos.add(System.nanoTime());
      return removals.since(((RemovalRequest) message).from());
    }, 16, 300, (shuffleId, lastMapId) -> applied.incrementAndGet(), shuffleId -> {})) {
      // Pauses of 16, 18, 20, 22 ms and so on, from the 28th on of 300 ms.
      Await.until("it asks though nothing is removed", () -> nanos.size() >= 31);
      assertTrue(nanos.get(30) - nanos.get(29) >= TimeUnit.MILLISECONDS.toNanos(295), () -> "asked at " + nanos);
      for (int i = 1; i <= 100; i++) {
        int count = i;
        removals.add(i, 50);
        // Under load a thread may wait as long as the longest pause, but not each time.
        Await.until("it has removed them", () -> applied.get() == count);
      }
      long first = nanos.get(nanos.size() - 100);
      assertTrue(nanos.get(nanos.size() - 1) - first < TimeUnit.MILLISECONDS.toNanos(100 * 300),
          () -> "asked at " + nanos);
    }
  }
}
