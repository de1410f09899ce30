package io.sluice.systemtests;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.sluice.nativebridge.NativeCore;
import java.time.Duration;

/** The native memory of this process, where the engine under test has any. */
final class NativeMemory {
  private static final Duration LIMIT = Duration.ofSeconds(20);

  private NativeMemory() {}

  /** Waits until everything has been given back: a killed task's encodes may still be on their way. */
  static void assertAllReturned() {
    if (Engine.UNDER_TEST.isSluice()) {
      Await.until(LIMIT, () -> NativeCore.leasedBytes() + " bytes are still leased",
          () -> NativeCore.leasedBytes() == 0);
      assertEquals(0, NativeCore.checkArena(), NativeCore::lastErrorMessage);
    }
  }
}
