package io.sluice.systemtests;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.sluice.nativebridge.NativeCore;
import java.time.Duration;

/** The native memory of this process, if the engine under test uses any. */
final class NativeMemory {
  private static final Duration LIMIT = Duration.ofSeconds(20);

  private NativeMemory() {}

  /** Waits until all of it has been released: encodes of a killed task may still be running. */
  static void assertAllReturned() {
    if (Engine.UNDER_TEST.isSluice()) {
      Await.until(LIMIT, () -> NativeCore.leasedBytes() + " bytes are still leased",
          () -> NativeCore.leasedBytes() == 0);
      assertEquals(0, NativeCore.checkArena(), NativeCore::lastErrorMessage);
    }
  }
}
