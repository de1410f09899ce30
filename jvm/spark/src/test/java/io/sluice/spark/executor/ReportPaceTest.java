package io.sluice.spark.executor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class ReportPaceTest {
  private static final long MILLI = 1_000_000;

  /** A clock may be negative. */
  private static final long START = -3_000 * MILLI;

  @Test
  void theFirstTenThenOneASecond() {
    ReportPace pace = new ReportPace();
    for (int i = 0; i < 10; i++) {
      assertTrue(pace.isDue(START));
    }
    assertFalse(pace.isDue(START));
    assertFalse(pace.isDue(START + 999 * MILLI));
    assertTrue(pace.isDue(START + 1_000 * MILLI));
    assertFalse(pace.isDue(START + 1_999 * MILLI));
    assertEquals(10, LongStream.range(2_000, 12_000).filter(milli -> pace.isDue(START + milli * MILLI)).count());
  }
}
