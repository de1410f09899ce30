package io.sluice.bench.tpcds;

import static org.apache.spark.sql.functions.round;

import io.sluice.bench.tables.TableQuery;
import io.sluice.bench.workload.Sizing;
import java.util.Arrays;
import java.util.regex.Pattern;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;

/**
 * One query of TPC-DS.
 *
 * <p>Its result is compared without what may differ from run to run on stock Spark itself: the outermost LIMIT, which
 * may cut between rows that are equal in the query's order, is left out; DOUBLEs, whose sums depend on the order in
 * which they are added, are rounded to six decimals.
 */
public final class TpcdsQuery extends TableQuery {

  private static final Pattern LAST_LIMIT = Pattern.compile("\\bLIMIT\\s+\\d+\\s*;?\\s*$", Pattern.CASE_INSENSITIVE);
  private static final int DECIMALS = 6;

  private final String name;

  /** The query called {@code name}, as {@code q14a}. */
  public TpcdsQuery(String name) {
    this.name = name;
  }

  @Override
  protected String sql(Sizing sizing) {
    return TpcdsQueries.text(sizing.tables().queries(), name);
  }

  @Override
  protected Dataset<Row> compared(SparkSession spark, Sizing sizing) {
    Dataset<Row> result = spark.sql(withoutLimit(sql(sizing)));
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
}
