package io.sluice.bench.tables;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.bench.InAll;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tables of every form have the same rows, and Spark plans with what a form is for. */
@InAll
class TableFormTest {

  private static final double SCALE = 0.01;
  private static final List<String> TABLES = List.of("inventory", "date_dim");
  private static final String JOINED = "SELECT inv_item_sk, sum(inv_quantity_on_hand), count(*) "
      + "FROM inventory, date_dim WHERE inv_date_sk = d_date_sk AND d_year = 2000 AND d_moy = 2 "
      + "GROUP BY inv_item_sk ORDER BY inv_item_sk";
  private static final String GROUPED = "SELECT inv_item_sk, count(*) FROM inventory GROUP BY inv_item_sk";

  @TempDir private static Path folder;

  private static SparkSession spark;
  private static List<Row> expected;

  @BeforeAll
  static void start() {
    spark = SparkSession.builder().master("local[2]").appName("forms").config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1").config("spark.sql.warehouse.dir", folder + "/warehouse")
        .config("spark.sql.adaptive.enabled", "false").config("spark.sql.shuffle.partitions", "2").getOrCreate();
    write(TableForm.PLAIN);
    expected = reading(TableForm.PLAIN).sql(JOINED).collectAsList();
  }

  @AfterAll
  static void stop() {
    spark.stop();
  }

  /** Applications have tables of one form each; the catalog of this one is emptied for the next form. */
  @AfterEach
  void emptyCatalog() {
    SparkSession other = spark.newSession();
    TABLES.forEach(table -> other.sql("DROP TABLE IF EXISTS " + table));
  }

  @Test
  void plainTablesHaveNothingToPlanWith() {
    SparkSession session = reading(TableForm.PLAIN);
    assertFalse(expected.isEmpty());
    assertFalse(plan(session, JOINED).contains("dynamicpruning"));
    assertTrue(plan(session, GROUPED).contains("Exchange hashpartitioning"));
    assertFalse(knowsRows(session));
  }

  @Test
  void ofPartitionedTablesDaysArePruned() {
    write(TableForm.PARTITIONED);
    SparkSession session = reading(TableForm.PARTITIONED);
    assertTrue(plan(session, JOINED).contains("dynamicpruning"), plan(session, JOINED));
    assertEquals(expected, session.sql(JOINED).collectAsList());
  }

  @Test
  void bucketedTablesAreGroupedWithoutAShuffle() {
    write(TableForm.BUCKETED);
    emptyCatalog();
    SparkSession session = reading(TableForm.BUCKETED);
    String plan = plan(session, GROUPED);
    assertTrue(plan.contains("SelectedBucketsCount: 8 out of 8"), plan);
    assertFalse(plan.contains("Exchange"), plan);
    assertEquals(expected, session.sql(JOINED).collectAsList());
  }

  @Test
  void costsAreCountedWithStatistics() {
    TableForm.CBO.settings().forEach(spark.conf()::set);
    try {
      SparkSession session = spark.newSession();
      TableForm.CBO.settings().forEach(session.conf()::set);
      ParquetTables.register(session, files(TableForm.CBO));
      assertTrue(knowsRows(session));
      assertEquals(expected, session.sql(JOINED).collectAsList());
    } finally {
      TableForm.CBO.settings().keySet().forEach(spark.conf()::unset);
    }
  }

  @Test
  void theTablesThatAFormIsForAreTheLargeOnes() {
    List<String> partitioned = new ArrayList<>();
    List<String> bucketed = new ArrayList<>();
    for (GeneratedTable table : Benchmark.TPCDS.tables()) {
      table.partitionColumn().ifPresent(partitioned::add);
      table.bucketColumn().ifPresent(bucketed::add);
    }
    assertEquals(List.of("cr_returned_date_sk", "cs_sold_date_sk", "inv_date_sk", "sr_returned_date_sk",
        "ss_sold_date_sk", "wr_returned_date_sk", "ws_sold_date_sk"), partitioned.stream().sorted().toList());
    assertEquals(List.of("cr_item_sk", "cs_item_sk", "i_item_sk", "inv_item_sk", "sr_item_sk", "ss_item_sk",
        "wr_item_sk", "ws_item_sk"), bucketed.stream().sorted().toList());
    assertTrue(Benchmark.TPCH.tables().stream().allMatch(table -> table.partitionColumn().isEmpty()));
  }

  @Test
  void anUnknownFormIsNamed() {
    assertEquals("unknown form of tables 'iceberg'; known are plain, partitioned, bucketed, cbo",
        assertThrows(IllegalArgumentException.class, () -> TableForm.named("iceberg")).getMessage());
  }

  private static TableFiles files(TableForm form) {
    return TableFiles.below(folder, Benchmark.TPCDS, SCALE, form);
  }

  private static void write(TableForm form) {
    TABLES.forEach(table -> ParquetTables.write(spark, Benchmark.TPCDS.table(table), files(form)));
  }

  private static SparkSession reading(TableForm form) {
    SparkSession session = spark.newSession();
    ParquetTables.register(session, files(form));
    return session;
  }

  private static String plan(SparkSession session, String query) {
    return session.sql(query).queryExecution().executedPlan().toString();
  }

  private static boolean knowsRows(SparkSession session) {
    return session.table("inventory").queryExecution().optimizedPlan().stats().rowCount().isDefined();
  }
}
