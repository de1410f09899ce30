package io.sluice.spark.executor;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class CommitSpeedTest {
  private static final long BYTES = 64 << 20;

  private final CommitSpeed speed = new CommitSpeed();

  @Test
  void isNotSlowBeforeAnythingWasWritten() {
    assertFalse(speed.isSlow());
  }

  @Test
  void aDeviceThatWritesAtOnceIsSlow() {
    speed.wrote(BYTES, 5 * BYTES);
    assertTrue(speed.isSlow());
  }

  @Test
  void aKernelThatKeepsWhatIsWrittenIsNot() {
    speed.wrote(BYTES, BYTES / 3);
    assertFalse(speed.isSlow());
  }

  @Test
  void followsWhatChanges() {
    speed.wrote(BYTES, 5 * BYTES);
    for (int i = 0; i < 20; i++) {
      speed.wrote(BYTES, BYTES / 3);
    }
    assertFalse(speed.isSlow());
    for (int i = 0; i < 20; i++) {
      speed.wrote(BYTES, 3 * BYTES);
    }
    assertTrue(speed.isSlow());
  }

  @Test
  void smallFilesSayNothing() {
    speed.wrote(1_000, 1_000_000);
    assertFalse(speed.isSlow());
  }
}
