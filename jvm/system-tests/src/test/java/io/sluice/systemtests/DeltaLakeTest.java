package io.sluice.systemtests;

import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Delta Lake's commands that shuffle: MERGE, OPTIMIZE, Z-order, UPDATE and DELETE, and its optimized writes; exchanges
 * of the batches of its tables, and of tables with deletion vectors.
 */
@InAll
@Timeout(600)
class DeltaLakeTest {
  private static final Map<String, String> SETTINGS = Map.of(
      "spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension",
      "spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog",
      "spark.databricks.delta.snapshotPartitions", "2");

  @Test
  void tablesHaveStocksRows() {
    try (Neighbour delta = Neighbour.load("delta")) {
      new SqlProgram(SETTINGS)
          .run("CREATE TABLE t (id BIGINT, k BIGINT, d INT, name STRING) USING delta PARTITIONED BY (d)")
          .run("INSERT INTO t SELECT * FROM events")
          .shuffle("MERGE INTO t USING changes AS c ON t.id = c.id WHEN MATCHED AND c.k % 7 = 0 THEN DELETE "
              + "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *")
          .query("SELECT * FROM t")
          .run("UPDATE t SET k = k + 100 WHERE id % 17 = 0")
          .run("DELETE FROM t WHERE id % 23 = 0")
          .queryOfBatches("SELECT /*+ REPARTITION(5, k) */ id, k, name, d FROM t")
          .run("OPTIMIZE t")
          .query("SELECT * FROM t WHERE k > 500")
          .shuffle("OPTIMIZE t ZORDER BY (k, name)")
          .query("SELECT d, count(*), sum(k), max(name) FROM t GROUP BY d")
          .query("SELECT * FROM t")
          .query("SELECT count(*), sum(id) FROM t VERSION AS OF 1")
          // Rows that are deleted by a bitmap beside the file.
          .run("ALTER TABLE t SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
          .run("DELETE FROM t WHERE id % 29 = 0")
          .query("SELECT /*+ REPARTITION(4, k) */ id, k, name, d FROM t")
          .assertSameOnBothEngines("delta");
    }
  }

  /** They read the blocks of their exchange themselves. */
  @Test
  void optimizedWritesShuffleByStock() {
    Map<String, String> settings = new TreeMap<>(SETTINGS);
    settings.put("spark.databricks.delta.optimizeWrite.enabled", "true");
    try (Neighbour delta = Neighbour.load("delta")) {
      new SqlProgram(settings).withShufflesOfSpark()
          .run("CREATE TABLE t (id BIGINT, k BIGINT, d INT, name STRING) USING delta PARTITIONED BY (d)")
          .shuffle("INSERT INTO t SELECT * FROM events")
          .shuffle("INSERT INTO t SELECT e.id, c.k, e.d, c.name FROM events e JOIN changes c ON e.id = c.id")
          .query("SELECT * FROM t")
          .assertSameOnBothEngines("delta-optimized");
    }
  }
}
