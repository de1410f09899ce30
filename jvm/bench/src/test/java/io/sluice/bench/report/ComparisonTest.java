package io.sluice.bench.report;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class ComparisonTest {

  @Test
  void enginesOfOneBenchmarkAreComparedAndTheirRatiosAreToStock() {
    List<Comparison> comparisons = Comparison.of(List.of(result("sort", "stock", "4.2.0", "a", 9, 300),
        result("sort", "sluice", "4.2.0", "a", 6, 100), result("join", "sluice", "4.2.0", "a", 5, 50)));
    assertEquals(List.of("sort", "join"), comparisons.stream().map(Comparison::label).toList());
    Comparison sort = comparisons.get(0);
    assertEquals(Optional.of(1.5), sort.speedup(sort.results().get(1)));
    assertEquals(Optional.of(100.0 / 300), sort.bytesPart(sort.results().get(1)));
    assertEquals(Optional.empty(), sort.speedup(sort.results().get(0)));
    assertEquals(Optional.empty(), comparisons.get(1).speedup(comparisons.get(1).results().get(0)));
  }

  @Test
  void equalNamesGetWhatTellsThemApart() {
    List<Comparison> comparisons = Comparison.of(List.of(result("sort", "stock", "4.2.0", "monday", 1, 1),
        result("sort", "stock", "4.2.0", "tuesday", 1, 1), result("sort", "stock", "3.5.8", "monday", 1, 1)));
    assertEquals(List.of("sort, Spark 4.2.0, monday", "sort, Spark 4.2.0, tuesday", "sort, Spark 3.5.8"),
        comparisons.stream().map(Comparison::label).toList());
  }

  private static BenchResult result(String workload, String engine, String spark, String started, double seconds,
      long bytes) {
    Environment environment =
        new Environment("./sluice bench", null, started, "cpu", 2, 1, "17", "local[2]", Map.of(), 8, 0, null, null);
    return new BenchResult(workload, engine, spark, 10, List.of(seconds), seconds, null, bytes, bytes, 0, 1, 0, 10,
        "10:0:0", 0, 1, 10, 0, true, 1, 0, 0, List.of(), null, null, null, null, null, null, environment);
  }
}
