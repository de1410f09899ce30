package io.sluice.spark.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class SampledCpuTest {
  private long cpuNanos;
  private int readings;
  private final SampledCpu sampled = new SampledCpu(() -> {
    readings++;
    return cpuNanos;
  });

  private void piece(long nanos, long cpu) {
    long begun = sampled.begin();
    cpuNanos += cpu;
    sampled.end(begun, nanos);
  }

  @Test
  void piecesThatAreNotMeasuredHaveTheShareOfThoseThatAre() {
    for (int i = 0; i < 80; i++) {
      piece(100, 60);
    }
    assertEquals(80 * 60, sampled.take());
    assertEquals(20, readings, "two for each of ten pieces");
  }

  @Test
  void onePieceIsMeasuredAsItIs() {
    piece(1_000_003, 999_999);
    assertEquals(999_999, sampled.take());
    assertEquals(0, sampled.take(), "it was taken");
    piece(7, 5);
    assertEquals(5, sampled.take());
  }

  @Test
  void piecesInWhichNoTimePasses() {
    piece(0, 0);
    assertEquals(0, sampled.take());
    piece(0, 3);
    piece(10, 10);
    assertEquals(0, sampled.take(), "of the one that took time nothing is known");
  }
}
