package io.sluice.systemtests;

import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Iceberg's writes in each distribution mode, row-level changes, its rewrites of data files, and exchanges of the
 * batches that its reader gives, also of those with deleted rows.
 */
@InAll
@Timeout(300)
class IcebergTest {
  private static final Map<String, String> SETTINGS = Map.of(
      "spark.sql.extensions", "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
      "spark.sql.catalog.ice", "org.apache.iceberg.spark.SparkCatalog",
      "spark.sql.catalog.ice.type", "hadoop",
      "spark.sql.catalog.ice.warehouse", "{folder}/ice");
  private static final String MERGE = "MERGE INTO ice.db.%1$s AS t USING changes AS c ON t.id = c.id "
      + "WHEN MATCHED AND c.k %% 7 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *";

  private static void table(SqlProgram program, String mode, String properties) {
    program.run("CREATE TABLE ice.db." + mode + " (id BIGINT, k BIGINT, d INT, name STRING) USING iceberg "
        + "PARTITIONED BY (bucket(4, k)) TBLPROPERTIES ('write.distribution-mode'='" + mode + "'" + properties + ")");
  }

  private static void changes(SqlProgram program, String mode) {
    program.shuffle(String.format(MERGE, mode)).query("SELECT * FROM ice.db." + mode)
        .run("UPDATE ice.db." + mode + " SET k = k + 100 WHERE id % 17 = 0")
        .run("DELETE FROM ice.db." + mode + " WHERE id % 23 = 0")
        .queryOfBatches("SELECT /*+ REPARTITION(5, k) */ * FROM ice.db." + mode)
        .query("SELECT d, count(*), sum(k), max(name) FROM ice.db." + mode + " GROUP BY d");
  }

  @Test
  void tablesHaveStocksRows() {
    try (Neighbour iceberg = Neighbour.load("iceberg")) {
      SqlProgram program = new SqlProgram(SETTINGS);
      table(program, "none", ", 'write.spark.fanout.enabled'='true'");
      program.run("INSERT INTO ice.db.none SELECT * FROM events");
      changes(program, "none");
      table(program, "hash", ", 'write.merge.mode'='merge-on-read', 'write.delete.mode'='merge-on-read', "
          + "'write.update.mode'='merge-on-read', 'format-version'='2'");
      program.shuffle("INSERT INTO ice.db.hash SELECT * FROM events");
      changes(program, "hash");
      table(program, "range", "");
      program.run("ALTER TABLE ice.db.range WRITE ORDERED BY name, id")
          .shuffle("INSERT INTO ice.db.range SELECT * FROM events");
      changes(program, "range");
      rewrites(program);
      program.assertSameOnBothEngines("iceberg");
    }
  }

  private static void rewrites(SqlProgram program) {
    program
        .run("CALL ice.system.rewrite_data_files(table => 'db.hash', strategy => 'binpack', "
            + "options => map('rewrite-all', 'true'))")
        .query("SELECT * FROM ice.db.hash")
        .shuffleBatches("CALL ice.system.rewrite_data_files(table => 'db.none', strategy => 'sort', "
            + "sort_order => 'name DESC NULLS LAST, id ASC', options => map('rewrite-all', 'true'))")
        .query("SELECT * FROM ice.db.none")
        .shuffle("CALL ice.system.rewrite_data_files(table => 'db.range', strategy => 'sort', "
            + "sort_order => 'zorder(k, name)', options => map('rewrite-all', 'true'))")
        .query("SELECT * FROM ice.db.range")
        .run("CALL ice.system.rewrite_manifests('db.range')")
        .query("SELECT count(*), sum(k) FROM ice.db.range");
  }
}
