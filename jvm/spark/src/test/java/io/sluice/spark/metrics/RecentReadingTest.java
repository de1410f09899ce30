package io.sluice.spark.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** Many figures, one call; never old ones. */
class RecentReadingTest {
  private final AtomicLong clock = new AtomicLong(Long.MAX_VALUE - 3); // System.nanoTime may pass the end of a long.
  private final AtomicInteger calls = new AtomicInteger();

  @Test
  void whatIsReadWithinAMomentIsOneCall() {
    RecentReading<Integer> reading = new RecentReading<>(calls::incrementAndGet, clock::get);
    for (int i = 0; i < 40; i++) {
      assertEquals(1, reading.get());
    }
    clock.addAndGet(RecentReading.KEPT_NANOS - 1);
    assertEquals(1, reading.get());
    clock.addAndGet(1);
    assertEquals(2, reading.get());
    assertEquals(2, calls.get());
  }

  @Test
  void aCallThatFailsIsMadeAgainAndLeavesNoOldFigures() {
    RecentReading<Integer> reading = new RecentReading<>(() -> {
      if (calls.incrementAndGet() == 2) {
        throw new IllegalStateException("on purpose");
      }
      return calls.get();
    }, clock::get);
    assertEquals(1, reading.get());
    clock.addAndGet(RecentReading.KEPT_NANOS);
    assertThrows(IllegalStateException.class, reading::get);
    assertEquals(3, reading.get());
  }
}
