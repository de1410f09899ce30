package io.sluice.systemtests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Spark's own writers get the pairs of partition and row that Spark makes, from Sluice's inputs of exchanges too. */
@Tag("once")
class SqlExchangeWithSparksWritersTest {
  @InAll
  @Test
  void rowsAreInStocksPartitions() {
    assumeTrue(Engine.UNDER_TEST.isSluice(), "stock has no such node");
    List<Query> queries = ExchangeQueries.all();
    Map<String, Fingerprint> expected = Query.onStock(queries);
    try (SparkApplication application = SparkApplication.on(Engine.UNDER_TEST).set("spark.sluice.codec", "spark")
        .set("spark.sluice.store", "files").start()) {
      for (Query query : queries) {
        assertEquals(expected.get(query.name()), query.run(application.session()), query.name());
      }
      List<String> shape = Plans.shape(ExchangeQueries.join(application.session()));
      assertTrue(shape.stream().anyMatch(line -> line.trim().equals("SluicePartitions")), shape::toString);
    }
  }
}
