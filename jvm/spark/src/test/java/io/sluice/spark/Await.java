package io.sluice.spark;

import static org.junit.jupiter.api.Assertions.fail;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Waits until other threads have made a condition true. */
public final class Await {
  private static final long LIMIT_NANOS = TimeUnit.SECONDS.toNanos(60);
  private static final long LOOK_EVERY_NANOS = TimeUnit.MILLISECONDS.toNanos(2);

  private Await() {}

  /** Fails the test when {@code condition} does not become true within a minute. */
  public static void until(String what, BooleanSupplier condition) {
    long start = System.nanoTime();
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() - start > LIMIT_NANOS) {
        fail("waited a minute in vain until " + what);
      }
      LockSupport.parkNanos(LOOK_EVERY_NANOS);
    }
  }
}
