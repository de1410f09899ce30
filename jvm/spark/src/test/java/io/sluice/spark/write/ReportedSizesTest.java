package io.sluice.spark.write;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import org.junit.jupiter.api.Test;

class ReportedSizesTest {
  @Test
  void scalesToWhatSparkWouldHaveWritten() {
    assertArrayEquals(new long[] {20, 0, 60}, ReportedSizes.of(new long[] {10, 0, 30}, 1_000, 2));
  }

  @Test
  void neverMoreThanTheRowsThemselves() {
    assertArrayEquals(new long[] {12, 0, 36}, ReportedSizes.of(new long[] {10, 0, 30}, 48, 2));
  }

  @Test
  void neverLessThanTheRealLengths() {
    assertArrayEquals(new long[] {10, 0, 30}, ReportedSizes.of(new long[] {10, 0, 30}, 20, 2));
    assertArrayEquals(new long[] {1, 0}, ReportedSizes.of(new long[] {1, 0}, 0, 1));
  }

  @Test
  void emptyOutputStaysEmpty() {
    assertArrayEquals(new long[] {0, 0}, ReportedSizes.of(new long[] {0, 0}, 0, 2));
  }
}
