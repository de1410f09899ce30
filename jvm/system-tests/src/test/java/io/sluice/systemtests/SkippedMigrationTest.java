package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.lang.reflect.Method;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.shuffle.ShuffleBlockInfo;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.QueryExecution;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * A decommissioned executor moves no map outputs of ended SQL executions that have the mode which Spark Connect gives
 * them with {@code spark.sql.shuffleDependency.skipMigration.enabled}, and moves the others. Spark by itself moves all
 * of them in a cluster: it notes the shuffles on the driver alone.
 */
@Tag("once")
@InAll
class SkippedMigrationTest {
  private static final Duration LIMIT = Duration.ofSeconds(180);
  private static final int MAPS = 6;

  private static Dataset<Row> shuffled(SparkApplication application) {
    return Tables.events(application.session(), 20_000, MAPS).repartition(4, col("k"));
  }

  /** The same query with that mode. By reflection, because tests are compiled on Spark 3 too. */
  @SuppressWarnings("unchecked")
  private static Dataset<Row> unmoved(SparkApplication application, Dataset<Row> query) {
    try {
      Class<?> dataset = Class.forName("org.apache.spark.sql.classic.Dataset");
      QueryExecution execution = (QueryExecution) dataset.getMethod("queryExecution").invoke(query);
      Object mode = Class.forName("org.apache.spark.sql.execution.SkipMigration$").getField("MODULE$").get(null);
      Method ofRows = dataset.getMethod("ofRows", Class.forName("org.apache.spark.sql.classic.SparkSession"),
          LogicalPlan.class, Class.forName("org.apache.spark.sql.execution.ShuffleCleanupMode"));
      return (Dataset<Row>) ofRows.invoke(null, application.session(), execution.logical(), mode);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
  }

  private static List<String> rows(Dataset<Row> data) {
    return data.collectAsList().stream().map(Row::toString).sorted().toList();
  }

  /** Of all executors: the shuffle of each map output that block migration would move. */
  private static List<Integer> toBeMoved(SparkApplication application) {
    return ExecutorSurvey.ask(application.context(), SkippedMigrationTest::toBeMovedHere).values().stream()
        .flatMap(List::stream).sorted().toList();
  }

  private static ArrayList<Integer> toBeMovedHere() {
    ArrayList<Integer> shuffles = new ArrayList<>();
    for (scala.collection.Iterator<ShuffleBlockInfo> all =
        SparkEnv.get().blockManager().migratableResolver().getStoredShuffles().iterator(); all.hasNext();) {
      shuffles.add(all.next().shuffleId());
    }
    return shuffles;
  }

  @Test
  void outputsOfEndedExecutionsStay() {
    assumeTrue(Engine.UNDER_TEST.isSluice(), "Spark by itself moves them");
    try (SparkApplication application = SparkApplication.on(Engine.UNDER_TEST)
        .master(SparkApplication.CLUSTER)
        .set("spark.decommission.enabled", "true")
        .set("spark.storage.decommission.enabled", "true")
        .set("spark.storage.decommission.shuffleBlocks.enabled", "true")
        .set("spark.storage.decommission.replicationReattemptInterval", "1s")
        .start()
        .awaitExecutors(2)) {
      Dataset<Row> moved = shuffled(application);
      List<String> rows = rows(moved);
      List<Integer> ofTheFirst = toBeMoved(application);
      assertEquals(MAPS, ofTheFirst.size());
      Dataset<Row> unmoved = unmoved(application, shuffled(application));
      assertEquals(rows, rows(unmoved));
      Await.until(LIMIT, () -> "executors would move " + toBeMoved(application),
          () -> toBeMoved(application).equals(ofTheFirst));

      decommissionOne(application);
      assertEquals(ofTheFirst, toBeMoved(application), "the other executor has all outputs of the first shuffle");
      int before = application.events().submittedStages();
      assertEquals(rows, rows(moved));
      assertEquals(before + 1, application.events().submittedStages(), "no map task ran again");
      assertEquals(rows, rows(unmoved));
      assertEquals(before + 3, application.events().submittedStages(), "map outputs that had gone were made again");
    }
  }

  private static void decommissionOne(SparkApplication application) {
    SparkContext context = application.session().sparkContext();
    String executor = ClusterExecutors.ids(context).get(0);
    ClusterExecutors.decommission(context, executor);
    Await.until(LIMIT, () -> "still there: " + ClusterExecutors.ids(context),
        () -> application.events().removedExecutors().contains(executor));
  }
}
