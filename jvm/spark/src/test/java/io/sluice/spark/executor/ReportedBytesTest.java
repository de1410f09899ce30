package io.sluice.spark.executor;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class ReportedBytesTest {
  @Test
  void ratioIsOverAllMapOutputsOfAShuffle() {
    ReportedBytes bytes = new ReportedBytes();
    bytes.add(1, 100, 400);
    bytes.add(1, 300, 400);
    bytes.add(2, 10, 10);
    bytes.add(3, 0, 0);
    assertEquals(0.5, bytes.ratio(1, 7));
    assertEquals(1, bytes.ratio(2, 7));
    assertEquals(7, bytes.ratio(3, 7), "nothing was written");
    assertEquals(7, bytes.ratio(4, 7), "written by other executors");
    bytes.forget(1);
    assertEquals(7, bytes.ratio(1, 7));
  }
}
