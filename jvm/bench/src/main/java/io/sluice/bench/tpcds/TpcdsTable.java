package io.sluice.bench.tpcds;

import io.sluice.bench.tables.GeneratedTable;
import io.trino.tpcds.Results;
import io.trino.tpcds.Session;
import io.trino.tpcds.Table;
import io.trino.tpcds.column.Column;
import io.trino.tpcds.column.ColumnType;
import java.math.BigDecimal;
import java.time.LocalDate;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.StreamSupport;

/**
 * A table of TPC-DS, with the columns that the generator's port declares. Surrogate keys are 32-bit and other
 * identifiers 64-bit, dates DATE, characters of fixed and of varying length STRING, as in other kits for Spark.
 *
 * @param source the generator's table
 */
public record TpcdsTable(Table source) implements GeneratedTable {

  /** Every table that queries read. */
  public static final List<TpcdsTable> ALL =
      Table.getBaseTables().stream().filter(table -> table != Table.DBGEN_VERSION)
          .map(TpcdsTable::new).toList();

  /**
   * In how many parts large tables are made at scale 1. Returns cost what their sales cost, from which they are made.
   */
  private static final Map<Table, Integer> PARTS_AT_SCALE_1 = Map.of(Table.STORE_SALES, 12, Table.CATALOG_SALES, 8,
      Table.WEB_SALES, 4, Table.STORE_RETURNS, 8, Table.CATALOG_RETURNS, 6, Table.WEB_RETURNS, 3, Table.INVENTORY, 8);

  @Override
  public String label() {
    return source.getName();
  }

  @Override
  public String columns() {
    return Arrays.stream(source.getColumns()).map(column -> name(column) + " " + type(column))
        .collect(Collectors.joining(", "));
  }

  /** Of sales, returns and inventory, the day. */
  @Override
  public Optional<String> partitionColumn() {
    return column("_(sold|returned)_date_sk|inv_date_sk");
  }

  /** Of the same tables and of items, the item. */
  @Override
  public Optional<String> bucketColumn() {
    return partitionColumn().isPresent() || source == Table.ITEM ? column("_item_sk") : Optional.empty();
  }

  private Optional<String> column(String end) {
    return Arrays.stream(source.getColumns()).map(TpcdsTable::name)
        .filter(name -> name.matches("[a-z]*(" + end + ")")).findFirst();
  }

  @Override
  public int parts(double scale) {
    return (int) Math.max(1, Math.ceil(PARTS_AT_SCALE_1.getOrDefault(source, 0) * scale));
  }

  @Override
  public Iterator<Object[]> rows(double scale, int part, int parts) {
    Session session = Session.getDefaultSession().withScale(scale).withTable(source).withParallelism(parts)
        .withChunkNumber(part);
    Column[] columns = source.getColumns();
    // A row of sales comes with the row of returns that was made from it.
    return StreamSupport.stream(Results.constructResults(source, session).spliterator(), false)
        .map(rows -> values(columns, rows.get(0))).iterator();
  }

  private static Object[] values(Column[] columns, List<String> texts) {
    Object[] values = new Object[columns.length];
    for (int i = 0; i < values.length; i++) {
      String text = texts.get(i);
      values[i] = text == null ? null : value(columns[i], text);
    }
    return values;
  }

  private static Object value(Column column, String text) {
    return switch (column.getType().getBase()) {
      case INTEGER -> Integer.valueOf(text);
      case IDENTIFIER -> isSurrogate(column) ? (Object) Integer.valueOf(text) : Long.valueOf(text);
      case DECIMAL -> new BigDecimal(text);
      case DATE -> (int) LocalDate.parse(text).toEpochDay();
      case CHAR, VARCHAR, TIME -> text;
    };
  }

  private static String type(Column column) {
    ColumnType type = column.getType();
    return switch (type.getBase()) {
      case INTEGER -> "INT";
      case IDENTIFIER -> isSurrogate(column) ? "INT" : "BIGINT";
      case DECIMAL -> "DECIMAL(" + type.getPrecision().orElseThrow() + "," + type.getScale().orElseThrow() + ")";
      case DATE -> "DATE";
      case CHAR, VARCHAR, TIME -> "STRING";
    };
  }

  /** As Spark's queries have it. */
  private static String name(Column column) {
    return column.getName().equals("c_last_review_date_sk") ? "c_last_review_date" : column.getName();
  }

  private static boolean isSurrogate(Column column) {
    return column.getName().endsWith("_sk");
  }
}
