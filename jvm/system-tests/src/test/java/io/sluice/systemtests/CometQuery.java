package io.sluice.systemtests;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/**
 * A query that follows from a number, of which Comet has operators: over the table of {@link #write}, by random keys,
 * with random settings of adaptive execution and of Comet's exchanges.
 */
final class CometQuery {
  private static final List<String> KEYS = List.of("c_boolean", "c_byte", "c_short", "c_int", "c_long", "c_float",
      "c_double", "c_decimal_in_long", "c_decimal_in_bytes", "c_date", "c_timestamp", "c_timestamp_ntz", "c_string",
      "c_binary");
  private static final List<String> NESTED = List.of("c_array", "c_array_of_strings", "c_array_of_arrays", "c_map",
      "c_struct", "c_deep");
  /** Of the table. */
  static final long ROWS = 30_000;
  private static final int KINDS = 11;

  private final int number;
  private final String text;
  private final boolean ordered;
  private final boolean adaptive;
  private final int partitions;
  private final String mode;
  private final int batchRows;

  CometQuery(int number) {
    this.number = number;
    Random random = new Random(number);
    adaptive = random.nextBoolean();
    partitions = 1 + random.nextInt(12);
    mode = List.of("auto", "auto", "native", "jvm").get(random.nextInt(4));
    batchRows = List.of(8192, 8192, 100).get(random.nextInt(3));
    // Each kind with nested columns and without.
    ordered = number % KINDS == 3;
    text = text(number % KINDS, number / KINDS % 2 == 1, random);
  }

  /** Writes the table that the queries are of. */
  static void write(SparkSession spark, String folder) {
    Dataset<Row> all = Tables.allTypes(spark, ROWS, 3)
        .drop("c_calendar_interval", "c_year_month_interval", "c_day_time_interval");
    all.selectExpr("*", "CAST(pmod(xxhash64(id, 5), 40) AS INT) AS few", "concat('name ', id % 700) AS name")
        .write().mode("overwrite").parquet(folder);
  }

  private static String text(int kind, boolean nested, Random random) {
    List<String> keys = some(KEYS, 1 + random.nextInt(3), random);
    List<String> columns = new ArrayList<>(some(KEYS, 1 + random.nextInt(5), random));
    if (nested) {
      columns.addAll(some(NESTED, 1 + random.nextInt(3), random));
    }
    columns.removeAll(keys);
    String key = String.join(", ", keys);
    String all = "id, " + String.join(", ", keys) + (columns.isEmpty() ? "" : ", " + String.join(", ", columns));
    int parts = 1 + random.nextInt(9);
    return switch (kind) {
      case 0 -> "SELECT /*+ REPARTITION(" + parts + ", " + key + ") */ " + all + " FROM facts";
      case 1 -> "SELECT " + key + ", count(*) AS n, sum(few) AS s, min(c_int) AS i, max(c_date) AS d, min(name) AS m "
          + "FROM facts GROUP BY " + key;
      case 2 -> "SELECT " + qualified("a", all) + ", b.id AS other FROM facts a JOIN facts b ON a." + keys.get(0)
          + " = b." + keys.get(0) + " WHERE b.few = 3 AND a.few < 5 AND b.id % 11 = 0";
      case 3 -> "SELECT " + all + " FROM facts WHERE few < 20 ORDER BY " + key + ", id";
      case 4 -> "SELECT DISTINCT few, " + key + " FROM facts";
      case 5 -> "SELECT /*+ REPARTITION(" + parts + ") */ " + all + " FROM facts";
      case 6 -> "SELECT id, few, row_number() OVER (PARTITION BY few ORDER BY " + key + ", id) AS r FROM facts";
      case 7 -> "SELECT s, a, few FROM (SELECT named_struct('k', " + keys.get(0) + ", 'n', name) AS s, "
          + "array(c_int, few) AS a, few, id FROM facts) DISTRIBUTE BY few";
      case 8 -> "SELECT " + all + " FROM facts ORDER BY few, id LIMIT " + (1 + random.nextInt(500));
      case 9 -> "SELECT sum(c_decimal_in_long) AS s, avg(c_decimal_in_bytes) AS a, max(" + keys.get(0) + ") AS m, "
          + "count(*) AS n FROM facts WHERE few < " + random.nextInt(40);
      default -> "SELECT few, count(DISTINCT name) AS n, count(DISTINCT " + keys.get(0)
          + ") AS k, sum(c_decimal_in_long) AS d FROM facts WHERE id IN (SELECT c_int FROM facts WHERE few < 30) "
          + "GROUP BY few";
    };
  }

  private static String qualified(String table, String columns) {
    return table + "." + String.join(", " + table + ".", columns.split(", "));
  }

  private static List<String> some(List<String> names, int count, Random random) {
    List<String> shuffled = new ArrayList<>(names);
    Collections.shuffle(shuffled, random);
    return shuffled.subList(0, Math.min(count, shuffled.size()));
  }

  /** What the rows are; in which order, too, if the query says in which. */
  Fingerprint result(SparkSession spark, Dataset<Row>[] ran) {
    spark.conf().set("spark.sql.adaptive.enabled", Boolean.toString(adaptive));
    spark.conf().set("spark.sql.shuffle.partitions", Integer.toString(partitions));
    spark.conf().set("spark.comet.exec.shuffle.mode", mode);
    spark.conf().set("spark.comet.batchSize", Integer.toString(batchRows));
    ran[0] = spark.sql(text);
    Fingerprint rows = Fingerprint.of(ran[0]);
    return ordered ? rows : rows.unordered();
  }

  /** Enough to run it again. */
  @Override
  public String toString() {
    return "query " + number + ": " + text + ", adaptive " + adaptive + ", " + partitions + " partitions, mode " + mode
        + ", batches of " + batchRows + " rows";
  }
}
