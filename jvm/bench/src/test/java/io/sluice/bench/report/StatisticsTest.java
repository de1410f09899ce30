package io.sluice.bench.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import org.junit.jupiter.api.Test;

class StatisticsTest {

  @Test
  void theGeometricMeanOfARatioAndItsInverseIsOne() {
    assertEquals(1, Statistics.geometricMean(4, 0.25), 1e-12);
    assertEquals(3, Statistics.geometricMean(3), 1e-12);
  }

  @Test
  void medianOfAnOddNumberIsTheMiddleValueWhateverTheOrder() {
    assertEquals(new Statistics(3, 1, 9), Statistics.of(9, 1, 3));
  }

  @Test
  void medianOfAnEvenNumberIsTheMeanOfTheTwoInTheMiddle() {
    assertEquals(new Statistics(2.5, 1, 100), Statistics.of(List.of(100.0, 3.0, 1.0, 2.0), Double::doubleValue));
  }

  @Test
  void oneValueIsAllThree() {
    assertEquals(new Statistics(4, 4, 4), Statistics.of(4));
  }

  @Test
  void anEmptySampleIsAnError() {
    assertThrows(IllegalArgumentException.class, () -> Statistics.of());
  }
}
