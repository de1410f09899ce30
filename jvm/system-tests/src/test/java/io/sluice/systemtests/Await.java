package io.sluice.systemtests;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/** Waits until a condition holds, without fixed sleeps. */
final class Await {
  private static final long POLL_NANOS = Duration.ofMillis(20).toNanos();

  private Await() {}

  /**
   * Returns as soon as {@code condition} holds.
   *
   * @throws AssertionError when it does not within {@code limit}; the message is {@code state}'s
   */
  static void until(Duration limit, Supplier<String> state, BooleanSupplier condition) {
    long deadline = System.nanoTime() + limit.toNanos();
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() > deadline) {
        throw new AssertionError("not within " + limit + ": " + state.get());
      }
      LockSupport.parkNanos(POLL_NANOS);
    }
  }
}
