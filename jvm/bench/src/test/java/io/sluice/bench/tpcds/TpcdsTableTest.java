package io.sluice.bench.tpcds;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.bench.tables.Benchmark;
import io.sluice.bench.tables.GeneratedTable;
import io.sluice.bench.tables.TableFiles;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** The tables' names, columns and rows, without Spark. */
class TpcdsTableTest {

  private static final double SMALL = 0.01;

  @Test
  void columnsHaveTheTypesThatQueriesExpect() {
    assertEquals(24, TpcdsTable.ALL.size());
    assertEquals("r_reason_sk INT, r_reason_id STRING, r_reason_desc STRING", table("reason").columns());
    String sales = table("store_sales").columns();
    assertTrue(sales.startsWith("ss_sold_date_sk INT, ss_sold_time_sk INT, ss_item_sk INT, "), sales);
    assertTrue(sales.contains(", ss_ticket_number BIGINT, ss_quantity INT, ss_wholesale_cost DECIMAL(7,2), "), sales);
    assertTrue(table("customer").columns().endsWith(", c_last_review_date INT"), table("customer").columns());
    assertTrue(table("date_dim").columns().startsWith("d_date_sk INT, d_date_id STRING, d_date DATE, "));
  }

  /** The specification's cardinalities at scale 1 of tables that do not grow, or are quick to make. */
  @Test
  void tablesHaveTheSpecifiedRows() {
    Map<String, Integer> rows = Map.of("date_dim", 73_049, "income_band", 20, "item", 18_000, "store", 12,
        "household_demographics", 7_200, "web_site", 30, "reason", 35);
    rows.forEach((name, expected) -> assertEquals(expected, rows(table(name), 1, 1, 1).size(), name));
  }

  /** dsdgen's seeds are fixed, so every run of it gives these rows. */
  @Test
  void contentsAreThoseOfDsdgen() {
    assertEquals(List.of(1, "AAAAAAAABAAAAAAA", "Package was damaged"), rows(table("reason"), 1, 1, 1).get(0));
  }

  @Test
  void tablesThatAQueryNamesAreFoundInItsText() {
    assertEquals(List.of("date_dim", "item", "store_sales"), Benchmark.TPCDS.tablesIn(
        "SELECT ss_store_sk, web_page_id\nFROM Store_Sales, date_dim,item WHERE ss_warehouse_sk = 1"));
    assertEquals(8, Benchmark.TPCH.tablesIn(Benchmark.TPCH.queries().stream()
        .map(query -> Benchmark.TPCH.text(query, TableFiles.below(Path.of("x"), Benchmark.TPCH, 1)))
        .collect(Collectors.joining())).size());
  }

  @Test
  void rowsDoNotDependOnTheNumberOfParts() {
    for (String name : List.of("web_sales", "web_returns", "reason")) {
      List<List<Object>> parts = new ArrayList<>();
      for (int part = 1; part <= 3; part++) {
        parts.addAll(rows(table(name), SMALL, part, 3));
      }
      assertEquals(rows(table(name), SMALL, 1, 1), parts, name);
    }
  }

  private static GeneratedTable table(String name) {
    return Benchmark.TPCDS.table(name);
  }

  private static List<List<Object>> rows(GeneratedTable table, double scale, int part, int parts) {
    List<List<Object>> rows = new ArrayList<>();
    Iterator<Object[]> values = table.rows(scale, part, parts);
    while (values.hasNext()) {
      rows.add(Arrays.asList(values.next()));
    }
    return rows;
  }
}
