package io.sluice.bench.tpcds;

import static org.apache.spark.sql.functions.round;

import io.sluice.bench.tables.ParquetTables;
import io.sluice.bench.workload.DataFrameWorkload;
import io.sluice.bench.workload.Sizing;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.regex.Pattern;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;

/**
 * One query of TPC-DS. Parsing and planning are timed, reading its text and finding the tables' files is not.
 *
 * <p>Its result is compared without what may differ from run to run on stock Spark itself: the outermost LIMIT, which
 * may cut between rows that are equal in the query's order, is left out; DOUBLEs, whose sums depend on the order in
 * which they are added, are rounded to six decimals.
 */
public final class TpcdsQuery extends DataFrameWorkload {

  private static final Pattern LAST_LIMIT = Pattern.compile("\\bLIMIT\\s+\\d+\\s*;?\\s*$", Pattern.CASE_INSENSITIVE);
  private static final int DECIMALS = 6;

  private final String name;

  /** The query called {@code name}, as {@code q14a}. */
  public TpcdsQuery(String name) {
    this.name = name;
  }

  /** True: adaptive execution and broadcast joins are part of what TPC-DS measures, and what users have. */
  @Override
  public boolean wantsSparksDefaults() {
    return true;
  }

  @Override
  public void prepare(SparkSession spark, Sizing sizing) {
    ParquetTables.register(spark, sizing.tables());
  }

  @Override
  protected Dataset<Row> query(SparkSession spark, Sizing sizing) {
    return spark.sql(text(sizing));
  }

  @Override
  protected Dataset<Row> compared(SparkSession spark, Sizing sizing) {
    Dataset<Row> result = spark.sql(withoutLimit(text(sizing)));
    StructField[] fields = result.schema().fields();
    // Queries name columns alike (q64), so they are told apart by their places.
    String[] places = new String[fields.length];
    Arrays.setAll(places, place -> "c" + place);
    Dataset<Row> placed = result.toDF(places);
    Column[] columns = new Column[fields.length];
    Arrays.setAll(columns, place -> fields[place].dataType().equals(DataTypes.DoubleType)
        ? round(placed.col(places[place]), DECIMALS) : placed.col(places[place]));
    return placed.select(columns);
  }

  /** {@code query} without its outermost LIMIT, if it has one. */
  static String withoutLimit(String query) {
    return LAST_LIMIT.matcher(query).replaceFirst("");
  }

  private String text(Sizing sizing) {
    Path file = sizing.tables().queries().resolve("tpcds").resolve(name + ".sql");
    try {
      return Files.readString(file);
    } catch (IOException e) {
      throw new UncheckedIOException(file + " cannot be read", e);
    }
  }
}
