package io.sluice.systemtests;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

import org.apache.spark.package$;

/** Generated inputs: the same rows in every application, on any engine. */
final class Tables {
  private Tables() {}

  /** The benchmark's columns: longs, ints, a double, a short string, a constant. */
  static Dataset<Row> events(SparkSession spark, long rows, int slices) {
    return spark
        .range(0, rows, 1, slices)
        .selectExpr(
            "id",
            "pmod(xxhash64(id), 1000) AS k",
            "CAST(id % 365 AS INT) AS d",
            "CAST(xxhash64(id, 3) AS DOUBLE) / 1e9 AS x",
            "CAST(pmod(xxhash64(id, 7), 1000) AS INT) AS s",
            "concat('name_', id % 10000) AS name",
            "3 * id AS y",
            "5L AS c");
  }

  /** Four fifths of the rows have the same key. */
  static Dataset<Row> skewed(SparkSession spark, long rows, int slices) {
    return spark
        .range(0, rows, 1, slices)
        .selectExpr("id", "IF(id % 5 = 0, pmod(xxhash64(id), 97), 7L) AS k", "repeat(CAST(id AS STRING), 4) AS text");
  }

  static boolean isSpark3() {
    return package$.MODULE$.SPARK_VERSION().startsWith("3.");
  }

  static boolean isSpark33() {
    return package$.MODULE$.SPARK_VERSION().startsWith("3.3.");
  }

  /** Every SQL type that can be shuffled, plain and nested; in every third row the column is null. */
  static Dataset<Row> allTypes(SparkSession spark, long rows, int slices) {
    String[] columns = {
      "id % 2 = 0 AS c_boolean",
      "CAST(id % 128 AS BYTE) AS c_byte",
      "CAST(id % 32768 AS SHORT) AS c_short",
      "CAST(id AS INT) AS c_int",
      "id * 1234567891 AS c_long",
      "CAST(id AS FLOAT) / 3 AS c_float",
      "CAST(id AS DOUBLE) / 7 AS c_double",
      "CAST(id AS DECIMAL(18, 4)) AS c_decimal_in_long",
      "CAST(id AS DECIMAL(38, 10)) * 12345678901234567 AS c_decimal_in_bytes",
      "date_add(DATE'1970-01-01', CAST(id % 40000 AS INT)) AS c_date",
      "timestamp_seconds(id * 1001) AS c_timestamp",
      // A type since Spark 3.4.
      (isSpark33() ? "timestamp_seconds(id * 1001)" : "CAST(timestamp_seconds(id * 1001) AS TIMESTAMP_NTZ)")
          + " AS c_timestamp_ntz",
      "make_interval(1, 2, 3, CAST(id % 28 AS INT), 5, 6, 7.5) AS c_calendar_interval",
      "make_ym_interval(CAST(id % 90 AS INT), 3) AS c_year_month_interval",
      "make_dt_interval(CAST(id % 90 AS INT), 3, 4, 5.25) AS c_day_time_interval",
      "repeat(CAST(id AS STRING), CAST(id % 11 AS INT)) AS c_string",
      "encode(repeat(CAST(id AS STRING), CAST(id % 5 AS INT)), 'UTF-16') AS c_binary",
      "array(id, NULL, id + 1) AS c_array",
      "array(CAST(id AS STRING), NULL, '') AS c_array_of_strings",
      "array(array(id), array(), NULL) AS c_array_of_arrays",
      "map('k', id, CAST(id AS STRING), NULL) AS c_map",
      "named_struct('a', id, 'b', named_struct('c', CAST(id AS STRING), 'd', array(id))) AS c_struct",
      "array(named_struct('m', map(id, array(named_struct('x', id))))) AS c_deep"
    };
    Dataset<Row> plain = spark.range(0, rows, 1, slices).selectExpr(with("id", columns));
    String[] sometimesNull = java.util.Arrays.stream(plain.columns())
        .filter(name -> !name.equals("id"))
        .map(name -> "IF(pmod(xxhash64(id, '" + name + "'), 3) = 0, NULL, " + name + ") AS " + name)
        .toArray(String[]::new);
    return plain.selectExpr(with("id", sometimesNull));
  }

  private static String[] with(String first, String[] rest) {
    String[] all = new String[rest.length + 1];
    all[0] = first;
    System.arraycopy(rest, 0, all, 1, rest.length);
    return all;
  }
}
