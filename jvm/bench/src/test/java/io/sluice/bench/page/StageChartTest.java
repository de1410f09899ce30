package io.sluice.bench.page;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import io.sluice.bench.protocol.StageMetrics;
import java.util.List;
import org.junit.jupiter.api.Test;

class StageChartTest {

  @Test
  void partsAddUpToTheTimeThatTasksRan() {
    StageMetrics map = new StageMetrics("map", 8, 10, 8, 2, 0, 1, 1_000, 0, 0);
    StageMetrics middle = new StageMetrics("middle", 8, 6, 4, 1, 2, 0, 500, 1_000, 0);
    StageMetrics last = new StageMetrics("last", 8, 4, 3, 0, 1, 0, 0, 500, 0);
    assertArrayEquals(new double[] {8, 3, 3, 6}, StageChart.parts(List.of(map, middle, last)), 1e-9);
  }
}
