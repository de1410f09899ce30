package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.Duration;
import java.util.List;
import org.apache.spark.SparkContext;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A decommissioned executor's map outputs move to another one and are read from there. */
@Tag("deep")
class DecommissionTest {
  private static final Duration LIMIT = Duration.ofSeconds(180);

  private static JavaRDD<InternalRow> shuffled(SparkApplication application) {
    return Plans.rows(Tables.events(application.session(), 60_000, 6).repartition(8, col("k")));
  }

  @Test
  void decommissioningMigratesMapOutputs() {
    Fingerprint expected;
    try (SparkApplication stock = SparkApplication.on(Engine.STOCK).start()) {
      expected = Fingerprint.of(shuffled(stock)).unordered();
    }
    try (SparkApplication application = SparkApplication.on(Engine.UNDER_TEST)
        .master(SparkApplication.CLUSTER)
        .set("spark.decommission.enabled", "true")
        .set("spark.storage.decommission.enabled", "true")
        .set("spark.storage.decommission.shuffleBlocks.enabled", "true")
        .set("spark.storage.decommission.replicationReattemptInterval", "1s")
        .start()
        .awaitExecutors(2)) {
      SparkContext context = application.session().sparkContext();
      JavaRDD<InternalRow> rows = shuffled(application);
      assertEquals(expected, Fingerprint.of(rows).unordered());
      List<String> executors = ClusterExecutors.ids(context);
      assertEquals(2, executors.size());

      ClusterExecutors.decommission(context, executors.get(0));
      StageEvents events = application.events();
      Await.until(LIMIT, () -> "still there: " + ClusterExecutors.ids(context),
          () -> events.removedExecutors().contains(executors.get(0)));

      assertEquals(expected, Fingerprint.of(rows).unordered());
      assertEquals(0, application.events().retriedStages(),
          () -> "map outputs were written again instead of moved, after " + events.fetchFailures());
    }
  }
}
