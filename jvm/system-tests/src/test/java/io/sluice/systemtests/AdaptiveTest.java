package io.sluice.systemtests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/**
 * Adaptive execution decides as on stock, from the sizes that the shuffle reports, and reads what it asks for: the final plans,
 * the numbers of partitions and where each is cut are the same.
 */
class AdaptiveTest {
  /** What stock made of a query. */
  private record Expected(Fingerprint rows, List<String> shape) {}

  @TestFactory
  Stream<DynamicTest> sameDecisionsAndRowsAsStock() {
    return compare(AdaptiveQueries.all(), Map.of());
  }

  @TestFactory
  Stream<DynamicTest> sameDecisionsWithZstd() {
    return compare(AdaptiveQueries.some(), Map.of("spark.io.compression.codec", "zstd"));
  }

  @TestFactory
  Stream<DynamicTest> sameDecisionsWithSnappy() {
    return compare(AdaptiveQueries.some(), Map.of("spark.io.compression.codec", "snappy"));
  }

  @TestFactory
  Stream<DynamicTest> sameDecisionsWithoutCompression() {
    return compare(AdaptiveQueries.some(), Map.of("spark.shuffle.compress", "false"));
  }

  private static Stream<DynamicTest> compare(AdaptiveQueries queries, Map<String, String> settings) {
    Map<String, Expected> expected = run(Engine.STOCK, queries, settings);
    Map<String, Expected> actual = run(Engine.UNDER_TEST, queries, settings);
    NativeMemory.assertAllReturned();
    List<DynamicTest> tests = new ArrayList<>();
    for (Query query : queries.queries()) {
      tests.add(DynamicTest.dynamicTest(query.name() + settings, () -> {
        Expected stock = expected.get(query.name());
        Expected ours = actual.get(query.name());
        assertEquals(stock.rows(), ours.rows());
        assertEquals(String.join("\n", stock.shape()), String.join("\n", ours.shape()));
        String mark = queries.mark(query);
        assertTrue(ours.shape().stream().anyMatch(line -> line.contains(mark)), () -> "no " + mark + " in " + ours.shape());
      }));
    }
    return tests.stream();
  }

  private static Map<String, Expected> run(Engine engine, AdaptiveQueries queries, Map<String, String> settings) {
    Map<String, Expected> results = new LinkedHashMap<>();
    try (SparkApplication application = SparkApplication.on(engine).setAll(settings).start()) {
      AdaptiveQueries.createViews(application.session());
      for (Query query : queries.queries()) {
        results.put(query.name(), new Expected(query.run(application.session()), query.runForShape(application.session())));
      }
    }
    return results;
  }
}
