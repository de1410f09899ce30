package io.sluice.spark.conf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

class GpuSettingsTest {
  private static final long MIB = 1 << 20;

  private static GpuSettings settings(GpuUse use) {
    return new GpuSettings(use, OptionalLong.empty(), 0, 32 * MIB, 4096 * MIB, 4 * MIB, 30_000);
  }

  @Test
  void batchesThatNeverReachTheGpuAreSaid() {
    for (GpuUse use : GpuUse.values()) {
      assertTrue(settings(use).warning(4 * MIB).isEmpty());
      assertEquals(use != GpuUse.OFF, settings(use).warning(4 * MIB - 1).isPresent(), use.name());
    }
    String words = settings(GpuUse.ON).warning(3 * MIB).orElseThrow();
    assertTrue(words.contains("have 3145728 bytes"), words);
    assertTrue(words.contains("spark.sluice.gpu.minBatchBytes is 4194304"), words);
  }
}
