package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.time.Duration;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * Executors that come and go with the load: map outputs outlive them in the External Shuffle Service, or are written
 * again.
 */
@InAll
class DynamicAllocationTest {
  private static final Duration LIMIT = Duration.ofSeconds(180);

  private static SparkApplication.Builder application() {
    return SparkApplication.on(Engine.UNDER_TEST)
        .master(SparkApplication.CLUSTER)
        .set("spark.dynamicAllocation.enabled", "true")
        .set("spark.dynamicAllocation.minExecutors", "0")
        .set("spark.dynamicAllocation.initialExecutors", "2")
        .set("spark.dynamicAllocation.maxExecutors", "2")
        .set("spark.dynamicAllocation.executorIdleTimeout", "2s")
        .set("spark.dynamicAllocation.schedulerBacklogTimeout", "1s");
  }

  private static Fingerprint expected;

  @BeforeAll
  static void reference() {
    try (SparkApplication stock = SparkApplication.on(Engine.STOCK).start()) {
      expected = Fingerprint.of(shuffled(stock)).unordered();
    }
  }

  private static JavaRDD<InternalRow> shuffled(SparkApplication application) {
    return Plans.rows(Tables.events(application.session(), 60_000, 6).repartition(8, col("k")));
  }

  /** Executors without tasks are given back. */
  private static void awaitNoExecutors(SparkApplication application) {
    StageEvents events = application.events();
    Set<String> seen = new TreeSet<>(ClusterExecutors.ids(application.session().sparkContext()));
    Await.until(LIMIT, () -> "still there: " + ClusterExecutors.ids(application.session().sparkContext()),
        () -> events.removedExecutors().containsAll(seen)
            && ClusterExecutors.ids(application.session().sparkContext()).isEmpty());
  }

  @Test
  void withTheShuffleServiceOutputsOutliveTheirExecutors() throws IOException {
    try (ShuffleService service = ShuffleService.start();
        SparkApplication application = application()
            .set("spark.shuffle.service.enabled", "true")
            .set("spark.shuffle.service.port", Integer.toString(service.port()))
            .start().awaitExecutors(1)) {
      JavaRDD<InternalRow> rows = shuffled(application);
      assertEquals(expected, Fingerprint.of(rows).unordered());
      awaitNoExecutors(application);
      int stages = application.events().submittedStages();
      assertEquals(expected, Fingerprint.of(rows).unordered());
      assertEquals(0, application.events().retriedStages(), () -> "" + application.events().fetchFailures());
      assertEquals(stages + 1, application.events().submittedStages(), "the map stage was skipped");
    }
  }

  @Test
  void withShuffleTrackingOutputsAreWrittenAgainAfterTheTimeout() {
    try (SparkApplication application = application()
        .set("spark.dynamicAllocation.shuffleTracking.enabled", "true")
        .set("spark.dynamicAllocation.shuffleTracking.timeout", "3s")
        .start().awaitExecutors(1)) {
      JavaRDD<InternalRow> rows = shuffled(application);
      assertEquals(expected, Fingerprint.of(rows).unordered());
      awaitNoExecutors(application);
      assertEquals(expected, Fingerprint.of(rows).unordered());
      assertTrue(application.events().submittedStages() >= 4, "two stages, and both again");
    }
  }

  /** Spark's allocation manager decommissions an executor without tasks; its map outputs move to the other one. */
  @Test
  void anExecutorThatIsGivenBackMovesItsOutputs() {
    try (SparkApplication application = application()
        .set("spark.dynamicAllocation.minExecutors", "1")
        .set("spark.dynamicAllocation.executorIdleTimeout", "5s")
        // Else no executor with outputs is given back.
        .set("spark.dynamicAllocation.shuffleTracking.enabled", "false")
        .set("spark.decommission.enabled", "true")
        .set("spark.storage.decommission.enabled", "true")
        .set("spark.storage.decommission.shuffleBlocks.enabled", "true")
        .set("spark.storage.decommission.replicationReattemptInterval", "1s")
        .start().awaitExecutors(2)) {
      JavaRDD<InternalRow> rows = shuffled(application);
      assertEquals(expected, Fingerprint.of(rows).unordered());
      Await.until(LIMIT, () -> "still there: " + ClusterExecutors.ids(application.session().sparkContext()),
          () -> application.events().removedExecutors().size() == 1);
      assertEquals(expected, Fingerprint.of(rows).unordered());
      assertEquals(0, application.events().retriedStages(), () -> "" + application.events().fetchFailures());
    }
  }
}
