package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.spark.api.java.JavaSparkContext;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import scala.Tuple2;

/**
 * Where nothing is wrong, the logs of executors have no warning that stock's have not, and mode RDMA without an RDMA
 * device has one.
 */
@InAll
class ExecutorWarningsTest {
  private static final String WARNING = " WARN ";

  private static Set<String> warnings(Engine engine, Map<String, String> settings) {
    ExecutorLogs logs = ExecutorLogs.in("warnings");
    try (SparkApplication application = SparkApplication.on(engine).master(SparkApplication.CLUSTER)
        .setAll(settings).setAll(logs.settings()).start().awaitExecutors(2)) {
      Tables.events(application.session(), 20_000, 4).repartition(5, col("k")).groupBy("k").count().orderBy("k")
          .collectAsList();
      JavaSparkContext context = application.context();
      assertEquals(50, context.parallelize(IntStream.range(0, 5_000).boxed().toList(), 4)
          .mapToPair(n -> new Tuple2<>(n % 50, "value " + n)).groupByKey(3).count());
      assertEquals(0, application.events().failedTasks());
      assertTrue(logs.lines(" INFO ").size() > 0 || !engine.isSluice(), "there are no logs of executors");
      // Executors whose driver ends say what they cannot reach any more, or do not.
      return warningsIn(logs);
    }
  }

  private static Set<String> warningsIn(ExecutorLogs logs) {
    return logs.lines(WARNING).stream().map(line -> line.substring(line.indexOf(WARNING)))
        .map(line -> line.replaceAll("[0-9a-f-]*\\d[0-9a-f-]*", "#")).collect(Collectors.toCollection(TreeSet::new));
  }

  @ParameterizedTest
  @ValueSource(strings = {"MULTITHREADED", "CACHE_ONLY", "UCX", "RDMA"})
  void theyHaveNoOtherWarningsThanStocks(String mode) {
    assumeTrue(Engine.UNDER_TEST.isSluice(), "modes are Sluice's");
    if (mode.equals("UCX") || mode.equals("RDMA")) {
      OneSidedTransportTest.assumeUcx();
    }
    Set<String> more = warnings(Engine.UNDER_TEST, Map.of("spark.sluice.mode", mode));
    more.removeAll(warnings(Engine.STOCK, Map.of()));
    if (mode.equals("RDMA") && OneSidedTransportTest.lacksRdma()) {
      assertEquals(1, more.size(), more::toString);
      assertTrue(more.removeIf(line -> line.contains("spark.sluice.mode=RDMA, but blocks of other hosts are read over"
          + " tcp, because this host has no RDMA device")), more::toString);
    }
    assertEquals(Set.of(), more);
  }

  /** That a warning would be seen: in an executor without its native library there is one. */
  @Test
  void aWarningIsSeen() {
    assumeTrue(Engine.UNDER_TEST.isSluice(), "the library is Sluice's");
    Set<String> warnings = warnings(Engine.UNDER_TEST, Map.of("spark.sluice.native.library", "/absent/lib.so"));
    assertTrue(warnings.stream().anyMatch(line -> line.contains("native library")), warnings::toString);
  }
}
