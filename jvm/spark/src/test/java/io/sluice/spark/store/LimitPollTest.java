package io.sluice.spark.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import io.sluice.spark.Await;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** An executor asks the driver for the limit of map output in memory. */
@Timeout(60)
class LimitPollTest {
  private final AtomicLong driversLimit = new AtomicLong(LimitRequest.UNCHANGED);
  private final AtomicInteger asked = new AtomicInteger();
  private final AtomicBoolean cacheIsThere = new AtomicBoolean(true);
  private final AtomicBoolean driverAnswers = new AtomicBoolean(true);
  private final List<Long> changes = new CopyOnWriteArrayList<>();

  private LimitPoll start() {
    return LimitPoll.start(message -> {
      assertEquals(new LimitRequest(), message);
      asked.incrementAndGet();
      if (!driverAnswers.get()) {
        throw new IllegalStateException("no answer");
      }
      return driversLimit.get();
    }, bytes -> cacheIsThere.get() && changes.add(bytes), 5);
  }

  private void awaitQuestions() {
    int before = asked.get();
    Await.until("the driver is asked again", () -> asked.get() > before + 2);
  }

  @Test
  void eachChangeIsMadeOnce() {
    try (LimitPoll poll = start()) {
      assertNotNull(poll);
      awaitQuestions();
      assertEquals(List.of(), changes, "the setting holds");
      driversLimit.set(5);
      Await.until("the limit is 5", () -> changes.equals(List.of(5L)));
      awaitQuestions();
      driversLimit.set(3);
      Await.until("the limit is 3", () -> changes.equals(List.of(5L, 3L)));
      awaitQuestions();
      assertEquals(List.of(5L, 3L), changes);
    }
  }

  @Test
  void aChangeWaitsForTheCacheAndForTheDriver() {
    cacheIsThere.set(false);
    driverAnswers.set(false);
    driversLimit.set(7);
    try (LimitPoll poll = start()) {
      assertNotNull(poll);
      awaitQuestions();
      driverAnswers.set(true);
      awaitQuestions();
      assertEquals(List.of(), changes);
      cacheIsThere.set(true);
      Await.until("the limit is 7", () -> changes.equals(List.of(7L)));
    }
    int last = asked.get();
    Await.until("the thread has ended", () -> Thread.getAllStackTraces().keySet().stream()
        .noneMatch(thread -> thread.getName().equals("sluice-cache-limit")));
    assertFalse(asked.get() > last + 1, "a closed poll asks no more");
  }
}
