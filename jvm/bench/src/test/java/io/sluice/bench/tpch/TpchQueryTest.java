package io.sluice.bench.tpch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.bench.InAll;
import io.sluice.bench.check.Digest;
import io.sluice.bench.catalogue.Catalogue;
import io.sluice.bench.tables.Benchmark;
import io.sluice.bench.tables.ParquetTables;
import io.sluice.bench.tables.TableFiles;
import io.sluice.bench.workload.Sizing;
import io.sluice.bench.workload.Workload;
import java.math.BigDecimal;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The tables at a hundredth of their size, and every query on them, on a Spark inside this JVM. */
class TpchQueryTest {

  private static final double SCALE = 0.01;
  private static final Set<Integer> PLANNED_TWICE = Set.of(1, 15, 22);

  @TempDir private static Path folder;

  private static SparkSession spark;
  private static Sizing sizing;

  @BeforeAll
  static void makeTables() {
    // Compiling plans would take longer than interpreting them for so few rows.
    spark = SparkSession.builder().master("local[2]").appName("tpch").config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1").config("spark.sql.warehouse.dir", folder + "/warehouse")
        .config("spark.sql.codegen.wholeStage", "false").config("spark.sql.shuffle.partitions", "2").getOrCreate();
    TableFiles tables = TableFiles.below(folder, Benchmark.TPCH, SCALE);
    sizing = new Sizing(1, 1, 0).reading(tables);
    for (Table table : Table.values()) {
      ParquetTables.write(spark, table, tables);
    }
    ParquetTables.register(spark, tables);
  }

  @AfterAll
  static void stop() {
    spark.stop();
  }

  @Test
  void tablesHaveTheSpecifiedRowsAndTypes() {
    Map<Table, Long> rows = Map.of(Table.REGION, 5L, Table.NATION, 25L, Table.SUPPLIER, 100L, Table.PART, 2_000L,
        Table.PARTSUPP, 8_000L, Table.CUSTOMER, 1_500L, Table.ORDERS, 15_000L, Table.LINEITEM, 60_175L);
    for (Table table : Table.values()) {
      assertEquals(rows.get(table), spark.table(table.label()).count(), table.label());
      assertEquals(ParquetTables.schema(table),
          spark.read().parquet(sizing.tables().path(table)).schema(), table.label());
    }
  }

  @Test
  void theExchangeOfLineItemsGivesTheRowsThatTheScanGives() {
    Digest scanned = Catalogue.create("tpch-scan").verify(spark, sizing);
    assertEquals(60_175L, scanned.rows());
    assertEquals(scanned, Catalogue.create("tpch-exchange").verify(spark, sizing));
    assertEquals(200, spark.sql(Benchmark.TPCH.text(Benchmark.EXCHANGE, sizing.tables())).rdd().getNumPartitions());
  }

  /** dbgen's seeds are fixed, so every run of it gives these figures. */
  @Test
  void contentsAreThoseOfDbgen() {
    Row lines = spark.sql("SELECT sum(l_quantity) FILTER (WHERE l_returnflag = 'A'), min(l_shipdate), max(l_discount) "
        + "FROM lineitem").head();
    assertEquals(new BigDecimal("380456.00"), lines.getDecimal(0));
    assertEquals("1992-01-04", lines.getDate(1).toString());
    assertEquals(new BigDecimal("0.10"), lines.getDecimal(2));
  }

  @Test
  void rowsDoNotDependOnTheNumberOfParts() {
    List<Object> whole = new ArrayList<>();
    Table.ORDERS.rows(SCALE, 1, 1).forEachRemaining(row -> whole.add(List.of(row)));
    List<Object> parts = new ArrayList<>();
    for (int part = 1; part <= 3; part++) {
      Table.ORDERS.rows(SCALE, part, 3).forEachRemaining(row -> parts.add(List.of(row)));
    }
    assertEquals(whole, parts);
  }

  /**
   * Checks every query's rows and their order. Some run a second time with another plan: neither the order of sums nor
   * the kind of join may change a result.
   */
  @InAll
  @Test
  void everyQueryGivesItsRowsInOrder() {
    SparkSession other = spark.newSession();
    other.conf().set("spark.sql.autoBroadcastJoinThreshold", "-1");
    other.conf().set("spark.sql.adaptive.enabled", "false");
    other.conf().set("spark.sql.shuffle.partitions", "3");
    List<Integer> rows = List.of(4, 4, 10, 5, 5, 1, 4, 2, 173, 20, 1, 2, 33, 1, 1, 296, 1, 2, 1, 1, 1, 7);
    for (int number = 1; number <= QueryText.QUERIES; number++) {
      Workload query = Catalogue.create("tpch-q" + number);
      Digest digest = query.verify(spark, sizing);
      assertEquals(rows.get(number - 1).longValue(), digest.rows(), "query " + number);
      assertTrue(digest.ordered(), "query " + number);
      if (PLANNED_TWICE.contains(number)) {
        query.prepare(other, sizing);
        assertEquals(digest, query.verify(other, sizing), "query " + number);
      }
    }
  }
}
