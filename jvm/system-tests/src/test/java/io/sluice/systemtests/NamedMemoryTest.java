package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * What executors that are read one-sidedly share by a name: map outputs that they have mapped, of files and of memory
 * files, and UCX's shared memory. With {@code spark.io.encryption.enabled} no row is in any of them; without it rows
 * are in the map outputs, and still not in UCX's, over which no block travels.
 */
@Tag("once")
@InAll
@Timeout(300)
class NamedMemoryTest {
  private static final long ROWS = 40_000;

  /** Its map outputs stay as long as somebody has it; each action reads them again. */
  private static JavaRDD<InternalRow> shuffled(SparkSession spark) {
    return Plans.rows(spark.range(0, ROWS, 1, 4).selectExpr("id", "concat('" + Marker.TEXT + "', id % 100) AS text")
        .repartition(6, col("id")));
  }

  @ParameterizedTest
  @CsvSource({"true, files, .data", "true, cache, memfd", "false, files, .data", "false, cache, memfd"})
  void noRowIsInMemoryWithANameThatIsEncrypted(boolean encrypted, String store, String mapped) {
    assumeTrue(Engine.writesFrames(), "Spark's format is Spark's to encrypt");
    OneSidedTransportTest.assumeUcx();
    try (SparkApplication application = SparkApplication.on(Engine.UNDER_TEST).master(SparkApplication.CLUSTER)
        .set("spark.shuffle.readHostLocalDisk", "false").set("spark.shuffle.compress", "false")
        .set("spark.io.encryption.enabled", Boolean.toString(encrypted))
        .setAll(Map.of("spark.sluice.transport", "ucx", "spark.sluice.store", store)).start().awaitExecutors(2)) {
      JavaRDD<InternalRow> rows = shuffled(application.session());
      OneSidedReads.await(application, () -> assertEquals(ROWS, rows.count()));
      ExecutorSurvey.ask(application.context(), () -> NamedMemory.with(Marker.TEXT)).forEach((id, names) -> {
        assertTrue(names.keySet().stream().anyMatch(name -> name.contains(mapped)), () -> id + ": " + names);
        assertTrue(names.keySet().stream().anyMatch(NamedMemoryTest::isOfUcx), () -> id + ": " + names);
        Set<String> found = new TreeSet<>(names.keySet());
        found.removeIf(name -> !names.get(name));
        assertEquals(!encrypted, found.stream().anyMatch(name -> name.contains(mapped)), () -> id + ": " + names);
        found.removeIf(name -> !encrypted && name.contains(mapped));
        assertEquals(Set.of(), found, "executor " + id);
      });
      assertEquals(6, rows.getNumPartitions());
    }
  }

  private static boolean isOfUcx(String name) {
    return name.startsWith("/dev/shm") || name.startsWith("/SYSV");
  }
}
