package io.sluice.systemtests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.spark.SparkEnv;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Random tables are divided and sorted as on stock, also where sorters spill and tasks fail in the middle and run
 * again. A failure names the query's number: {@code -Dsystemtests.query=<number>} runs that query alone, and {@code
 * -Dsystemtests.queries=<count>} more of them.
 */
@Tag("once")
class GeneratedQueriesTest {
  private static final int QUERIES = Integer.getInteger("systemtests.queries", GeneratedQuery.TURN / 2);
  private static final String SPILL = "spark.shuffle.spill.numElementsForceSpillThreshold";

  @Test
  void resultsAreStocks() {
    assumeTrue(Engine.UNDER_TEST.isSluice(), "stock is the reference");
    List<GeneratedQuery> queries = queries();
    List<List<PlacedRow>> expected = onStock(queries);
    Map<String, Integer> seen = new HashMap<>();
    try (SparkApplication application = start(Engine.UNDER_TEST)) {
      for (int i = 0; i < queries.size(); i++) {
        assertSame(queries.get(i), expected.get(i), application, seen);
      }
      if (queries.size() == QUERIES) {
        for (String what : List.of("SluiceSort", "SluicePartitions", "spills", "failures")) {
          assertTrue(seen.getOrDefault(what, 0) > QUERIES / 10, () -> "too few queries with " + what + ": " + seen);
        }
      }
    }
  }

  /** In four turns every type is the first key of a sort of some rows in every order; in one, in half of them. */
  @Test
  void everyTypeIsSortedInEveryOrder() {
    for (int queries : new int[] {GeneratedQuery.TURN, 4 * GeneratedQuery.TURN}) {
      long sorted = IntStream.range(0, queries).mapToObj(GeneratedQuery::new)
          .flatMap(query -> query.sortedBy().stream()).distinct().count();
      assertTrue(sorted >= (queries == GeneratedQuery.TURN ? GeneratedQuery.TURN / 2 : GeneratedQuery.TURN),
          () -> sorted + " of " + GeneratedQuery.TURN + " in " + queries + " queries");
    }
  }

  private static List<GeneratedQuery> queries() {
    Integer one = Integer.getInteger("systemtests.query");
    return one != null ? List.of(new GeneratedQuery(one))
        : IntStream.range(0, QUERIES).mapToObj(GeneratedQuery::new).toList();
  }

  /** Tasks may fail once. All rows are sampled, so that the bounds of ranges do not depend on the sample. */
  private static SparkApplication start(Engine engine) {
    return SparkApplication.on(engine).master("local[2,2]").set("spark.sql.timeType.enabled", "true")
        .set("spark.sql.execution.rangeExchange.sampleSizePerPartition", "10000").start();
  }

  private static List<List<PlacedRow>> onStock(List<GeneratedQuery> queries) {
    List<List<PlacedRow>> results = new ArrayList<>();
    try (SparkApplication stock = start(Engine.STOCK)) {
      queries.forEach(query -> results.add(PlacedRow.of(query.on(stock.session(), false))));
    }
    return results;
  }

  private static void assertSame(
      GeneratedQuery query, List<PlacedRow> expected, SparkApplication application, Map<String, Integer> seen) {
    // Driver and executor share this object; sorters read it when they are made.
    SparkEnv.get().conf().set(SPILL, query.spills() ? "50" : "1000000");
    int failedBefore = application.events().failedTasks();
    Dataset<Row> data = query.on(application.session(), true);
    List<PlacedRow> actual;
    try {
      actual = PlacedRow.of(data);
    } catch (RuntimeException e) {
      throw new AssertionError(query.toString(), e);
    }
    assertEquals(query.comparable(expected), query.comparable(actual), query::toString);
    NativeMemory.assertAllReturned();
    int failed = application.events().failedTasks() - failedBefore;
    assertTrue(query.fails() || failed == 0, () -> failed + " failed tasks in " + query);
    count(Plans.shape(data), "SluiceSort", seen);
    count(Plans.shape(data), "SluicePartitions", seen);
    seen.merge("spills", Plans.metric(data, "spillSize").stream().anyMatch(bytes -> bytes > 0) ? 1 : 0, Integer::sum);
    seen.merge("failures", failed > 0 ? 1 : 0, Integer::sum);
  }

  private static void count(List<String> shape, String node, Map<String, Integer> seen) {
    seen.merge(node, shape.stream().anyMatch(line -> line.trim().equals(node)) ? 1 : 0, Integer::sum);
  }
}
