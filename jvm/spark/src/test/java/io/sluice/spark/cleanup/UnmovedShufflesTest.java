package io.sluice.spark.cleanup;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.LocalSpark;
import io.sluice.spark.compat.SkippedMigration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.spark.SparkConf;
import org.apache.spark.shuffle.ShuffleBlockInfo;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.DoNotCleanup$;
import org.apache.spark.sql.execution.ShuffleCleanupMode;
import org.apache.spark.sql.execution.SkipMigration$;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Which shuffles decommissioned executors do not move. The executions have the mode that Spark Connect gives them with
 * {@code spark.sql.shuffleDependency.skipMigration.enabled}.
 */
@Timeout(180)
class UnmovedShufflesTest {
  private static final List<Integer> FOUND = new CopyOnWriteArrayList<>();
  private static LocalSpark spark;
  /** Spark's cleaner removes outputs of those that nothing refers to. */
  private final List<Dataset<Row>> used = new ArrayList<>();

  @BeforeAll
  static void start() {
    spark = LocalSpark.start(Map.of("spark.sql.shuffle.partitions", "3", "spark.sql.autoBroadcastJoinThreshold", "-1"));
    spark.session().sparkContext().addSparkListener(new UnmovedShuffles(FOUND::add));
  }

  @AfterAll
  static void stop() {
    spark.close();
  }

  @BeforeEach
  void forget() {
    settle();
    FOUND.clear();
  }

  private static void settle() {
    try {
      spark.session().sparkContext().listenerBus().waitUntilEmpty();
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  private static Set<Integer> found() {
    settle();
    return new TreeSet<>(FOUND);
  }

  /** Shuffles that block migration would move from this process. */
  private static Set<Integer> moved() {
    Set<Integer> ids = new TreeSet<>();
    for (scala.collection.Iterator<ShuffleBlockInfo> all =
        spark.manager().shuffleBlockResolver().getStoredShuffles().iterator(); all.hasNext();) {
      ids.add(all.next().shuffleId());
    }
    return ids;
  }

  private static Set<Integer> newlyMoved(Set<Integer> before) {
    Set<Integer> ids = moved();
    ids.removeAll(before);
    return ids;
  }

  /** Two shuffles. */
  private static Dataset<Row> joined() {
    Dataset<Row> table = spark.session().range(0, 1_000, 1, 3).selectExpr("id", "id % 10 AS k");
    return table.repartition(3, col("k")).join(table.groupBy("k").count(), "k");
  }

  private Dataset<Row> of(Dataset<Row> query, ShuffleCleanupMode mode) {
    LogicalPlan plan = ((org.apache.spark.sql.classic.Dataset<Row>) query).queryExecution().logical();
    Dataset<Row> data = org.apache.spark.sql.classic.Dataset.ofRows(
        (org.apache.spark.sql.classic.SparkSession) spark.session(), plan, mode);
    used.add(data);
    return data;
  }

  @ParameterizedTest
  @ValueSource(strings = {"false", "true"})
  void thoseOfASessionThatWantsIt(String adaptive) {
    spark.session().conf().set("spark.sql.adaptive.enabled", adaptive);
    Set<Integer> before = moved();
    assertEquals(1_000, of(joined(), DoNotCleanup$.MODULE$).collectAsList().size());
    assertEquals(Set.of(), found());
    assertEquals(2, newlyMoved(before).size());
    before.addAll(moved());
    assertEquals(1_000, of(joined(), SkipMigration$.MODULE$).collectAsList().size());
    assertEquals(2, found().size());
    found().forEach(id -> assertFalse(before.contains(id)));
    assertEquals(Set.of(), newlyMoved(before), "in local mode Spark tells Sluice's block resolver itself");
  }

  @Test
  void notThoseThatAreReadAfterTheEnd() {
    Iterator<Row> rows = of(joined(), SkipMigration$.MODULE$).toLocalIterator();
    assertTrue(rows.hasNext());
    while (rows.hasNext()) {
      rows.next();
    }
    assertEquals(Set.of(), found());
  }

  @Test
  void notThoseOfAFailedExecution() {
    Dataset<Row> failing =
        of(joined().selectExpr("if(id = 500, raise_error('on purpose'), id) AS id"), SkipMigration$.MODULE$);
    assertThrows(Exception.class, failing::collectAsList);
    assertEquals(Set.of(), found());
  }

  @ParameterizedTest
  @CsvSource({"true, true, true", "true, false, false", "false, true, false"})
  void executorsAreToldWhereTheyMoveOutputs(String decommission, String storage, boolean told) {
    SparkConf conf = new SparkConf(false).set("spark.decommission.enabled", decommission)
        .set("spark.storage.decommission.enabled", storage);
    assertEquals(told, SkippedMigration.isPossible(conf));
  }
}
