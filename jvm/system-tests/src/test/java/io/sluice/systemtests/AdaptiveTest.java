package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Stream;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestFactory;

/**
 * Adaptive execution makes the same decisions as on stock from the sizes that the shuffle reports, and reads the
 * partitions that it has planned: the final plans, the numbers of partitions and their bounds are the same.
 */
@Tag("deep")
class AdaptiveTest {
  /** Stock's plan and rows of a query. */
  private record Expected(Fingerprint rows, List<String> shape) {}

  @TestFactory
  Stream<DynamicTest> sameDecisionsAndRowsAsStock() {
    return compare(AdaptiveQueries::ofEachRule, Map.of());
  }

  @InAll
  @TestFactory
  Stream<DynamicTest> sameDecisionsOfAllQueries() {
    return compare(AdaptiveQueries::all, Map.of());
  }

  @InAll
  @TestFactory
  Stream<DynamicTest> sameDecisionsWithZstd() {
    return compare(AdaptiveQueries::some, Map.of("spark.io.compression.codec", "zstd"));
  }

  @InAll
  @TestFactory
  Stream<DynamicTest> sameDecisionsWithSnappy() {
    return compare(AdaptiveQueries::some, Map.of("spark.io.compression.codec", "snappy"));
  }

  @InAll
  @TestFactory
  Stream<DynamicTest> sameDecisionsWithoutCompression() {
    return compare(AdaptiveQueries::some, Map.of("spark.shuffle.compress", "false"));
  }

  private static Stream<DynamicTest> compare(
      Function<Map<String, Long>, AdaptiveQueries> choice, Map<String, String> settings) {
    AdaptiveQueries queries;
    Map<String, Expected> expected;
    try (SparkApplication stock = start(Engine.STOCK, settings)) {
      queries = choice.apply(partitionBytes(stock.session()));
      expected = run(stock, queries);
    }
    Map<String, Expected> actual;
    try (SparkApplication sluice = start(Engine.UNDER_TEST, settings)) {
      actual = run(sluice, queries);
    }
    NativeMemory.assertAllReturned();
    List<DynamicTest> tests = new ArrayList<>();
    for (Query query : queries.queries()) {
      tests.add(DynamicTest.dynamicTest(query.name() + settings, () -> {
        Expected stock = expected.get(query.name());
        Expected ours = actual.get(query.name());
        assertEquals(stock.rows(), ours.rows());
        assertEquals(String.join("\n", stock.shape()), String.join("\n", ours.shape()));
        String mark = queries.mark(query);
        if (mark.equals(AdaptiveQueries.NO_JOIN)) {
          assertTrue(ours.shape().stream().noneMatch(line -> line.contains("Join")), () -> "a join: " + ours.shape());
        } else {
          assertTrue(ours.shape().stream().anyMatch(line -> line.contains(mark)),
              () -> "no " + mark + " in " + ours.shape());
        }
      }));
    }
    return tests.stream();
  }

  private static SparkApplication start(Engine engine, Map<String, String> settings) {
    SparkApplication application = SparkApplication.on(engine).setAll(settings).start();
    AdaptiveQueries.createViews(application.session());
    return application;
  }

  private static Map<String, Expected> run(SparkApplication application, AdaptiveQueries queries) {
    Map<String, Expected> results = new LinkedHashMap<>();
    for (Query query : queries.queries()) {
      Fingerprint rows = query.run(application.session());
      results.put(query.name(), new Expected(rows, query.runForShapeWithoutSluice(application.session())));
    }
    return results;
  }

  /** Bytes of an average partition of each table. */
  private static Map<String, Long> partitionBytes(SparkSession spark) {
    Map<String, Long> bytes = new LinkedHashMap<>();
    for (String table : AdaptiveQueries.TABLES) {
      long[] sizes = Plans.shuffleSizes(spark.table(table).repartition(AdaptiveQueries.PARTITIONS, col("k")));
      bytes.put(table, Arrays.stream(sizes).sum() / sizes.length);
    }
    return bytes;
  }
}
