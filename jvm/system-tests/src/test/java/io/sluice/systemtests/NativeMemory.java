package io.sluice.systemtests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.nativebridge.NativeCore;
import io.sluice.nativebridge.NativeLibrary;
import java.time.Duration;
import java.util.Map;

/** The native memory of this process or of an application's executors, if the engine under test uses any. */
final class NativeMemory {
  private static final Duration LIMIT = Duration.ofSeconds(60);

  private NativeMemory() {}

  /** Waits until all of this process has been released: encodes of a killed task may still be running. */
  static void assertAllReturned() {
    if (Engine.UNDER_TEST.isSluice()) {
      // A driver that runs no tasks has not loaded it.
      NativeLibrary.Status library = NativeLibrary.load("");
      assertTrue(library.available(), library.detail());
      Await.until(LIMIT, () -> NativeCore.leasedBytes() + " bytes are still leased",
          () -> NativeCore.leasedBytes() == 0);
      assertEquals(0, NativeCore.checkArena(), NativeCore::lastErrorMessage);
    }
  }

  /** The same for all executors. */
  static void assertAllReturnedBy(SparkApplication application) {
    if (Engine.UNDER_TEST.isSluice()) {
      Await.until(LIMIT, () -> "still leased, by executor: " + leased(application),
          () -> leased(application).values().stream().allMatch(bytes -> bytes == 0));
    }
  }

  private static Map<String, Long> leased(SparkApplication application) {
    return ExecutorSurvey.ask(application.context(), NativeCore::leasedBytes);
  }
}
