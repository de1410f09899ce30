package io.sluice.bench.report;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class BenchmarkSummaryTest {

  private static final long ROWS = 8_660_030;

  @Test
  void timesAreAddedAndRatiosAveragedGeometrically() {
    List<BenchmarkSummary> summaries = BenchmarkSummary.of(Comparison.of(List.of(
        result("tpch-q1", "stock", "4.2.0", 2, 100), result("tpch-q1", "sluice", "4.2.0", 4, 60),
        result("sort", "stock", "4.2.0", 99, 1), result("sort", "sluice", "4.2.0", 1, 1),
        result("tpch-q9", "stock", "4.2.0", 18, 900_000_000), result("tpch-q9", "sluice", "4.2.0", 1, 400_000_000))));
    assertEquals(1, summaries.size());
    assertEquals("TPC-H at scale 1, Spark 4.2.0", summaries.get(0).title());
    assertEquals(List.of(
        "2 queries: stock 20.0 s, sluice 5.0 s in all, 4.00 times as fast; geometric mean of the ratios 3.00, "
            + "lowest 0.50 (q1); shuffle bytes 0.44, CPU of the executor processes 1.00 and of the tasks 1.00 of "
            + "stock's.",
        "Little shuffle (stock writes less than a thousandth of the tables' size): q1."),
        summaries.get(0).sentences());
  }

  @Test
  void benchmarksAreKeptApartAndWithoutStockThereIsNothingToSay() {
    List<BenchmarkSummary> summaries = BenchmarkSummary.of(Comparison.of(IntStream.rangeClosed(1, 22).boxed()
        .flatMap(query -> Stream.of("4.2.0", "3.5.8").map(spark -> result("tpch-q" + query, "sluice", spark, 1, 1)))
        .toList()));
    assertEquals(List.of("TPC-H at scale 1, Spark 4.2.0", "TPC-H at scale 1, Spark 3.5.8"),
        summaries.stream().map(BenchmarkSummary::title).toList());
    summaries.forEach(summary -> assertEquals(22, summary.queries().size()));
    summaries.forEach(summary -> assertEquals(List.of(), summary.sentences()));
  }

  private static BenchResult result(String workload, String engine, String spark, double seconds, long bytes) {
    Environment environment = new Environment("./sluice bench tpch", null, "monday", "cpu", 2, 1, "17", "local[2]",
        Map.of(), 8, 0, 1.0, null);
    return new BenchResult(workload, engine, spark, ROWS, List.of(seconds), seconds, null, bytes, bytes, 0, 1, 0, 10,
        "10:0:0", 0, 1, 10, 0, true, 1, 0, 0, List.of(), null, null, null, null, null, null, environment);
  }
}
