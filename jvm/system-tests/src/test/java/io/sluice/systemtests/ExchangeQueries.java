package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.expr;

import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.types.DataTypes;

/** Queries whose exchanges divide rows in every way. */
final class ExchangeQueries {
  private static final long ROWS = 20_000;
  private static final int SLICES = 3;
  /** So that Spark samples all rows, and bounds of ranges do not depend on the sample. */
  private static final String SAMPLE = "spark.sql.execution.rangeExchange.sampleSizePerPartition";

  /** Keys that are no columns of atomic types. */
  static final List<String> HASHED = List.of("IF(id % 3 = 0, NULL, upper(name))", "struct(k, name)",
      "IF(id % 5 = 0, NULL, named_struct('a', d, 'b', struct(x, IF(s < 9, NULL, name))))", "array(k, s)",
      "transform(array(id, k), v -> v % 9)", "array(named_struct('a', d), named_struct('a', s))",
      "make_interval(0, 0, d)",
      "CAST(NULL AS STRING)", "CAST(x AS DECIMAL(38, 10)) / 3");
  /** From Spark 4.0 on. */
  static final List<String> COLLATED = List.of("name COLLATE UTF8_LCASE",
      "IF(id % 2 = 0, upper(name), name) COLLATE UNICODE_CI", "struct(name COLLATE UNICODE_CI)");

  /** Those whose name is that of a partitioning have the partition of every row in their result. */
  static List<Query> all() {
    List<Query> all = new ArrayList<>(List.of(
        placed("hash of a long", data -> data.repartition(7, col("k"))),
        placed("hash of several columns", data -> data.repartition(13, col("name"), col("d"), col("k"))),
        placed("hash of an expression", data -> data.repartition(7, expr("k % 5"))),
        placed("range of a string", data -> data.repartitionByRange(9, col("name").desc(), col("id"))),
        placed("range of a number", data -> data.repartitionByRange(40, col("d"))),
        placed("range of an expression", data -> data.repartitionByRange(9, expr("upper(substring(name, 6))"))),
        placed("range of a struct", data -> data.repartitionByRange(
            9, expr("IF(id % 9 = 0, NULL, struct(IF(d < 7, NULL, d), name))").desc_nulls_first(), col("id"))),
        placed("in turn", data -> data.repartition(11)),
        placed("one partition", data -> data.repartition(1)),
        Query.ordered("global sort", spark -> events(spark).orderBy("d", "id")),
        Query.of("join", ExchangeQueries::join),
        Query.of("join of an int and a long", ExchangeQueries::joinOfTypes),
        Query.of("join of doubles", ExchangeQueries::joinOfDoubles),
        Query.of("aggregate of a join", spark -> join(spark).groupBy("name").count()),
        Query.of("rebalance", spark -> events(spark).hint("rebalance"))));
    // In tasks of few rows, Spark's function finds the partitions of expressions.
    all.add(Query.of("hash of an expression, long tasks", spark -> spark.range(0, 200_000, 1, 2)
        .repartition(7, expr("id % 5"), expr("CAST(id AS STRING)")).withColumn("p", expr("spark_partition_id()"))));
    HASHED.forEach(key -> all.add(placed("hash of " + key, data -> data.repartition(7, expr(key), col("k")))));
    if (!Tables.isSpark3()) {
      COLLATED.forEach(key -> all.add(placed("hash of " + key, data -> data.repartition(7, expr(key)))));
    }
    all.add(placed("hash of a user's function", ExchangeQueries::byUsersFunction));
    // Else Spark does not look for equal subqueries in exchanges.
    String reuse = "spark.sql.exchange.reuse";
    all.add(placed("hash of a key with a subquery", data -> bySubquery(data, "DISTRIBUTE BY")).with(reuse, "false"));
    all.add(Query.ordered("global sort by a key with a subquery", spark -> bySubquery(events(spark), "ORDER BY"))
        .with(reuse, "false"));
    return List.copyOf(all);
  }

  private ExchangeQueries() {}

  private static Query placed(String name, UnaryOperator<Dataset<Row>> shuffle) {
    return Query.of(name, spark -> {
      // On stock too, which runs queries without their settings.
      spark.conf().set(SAMPLE, "10000");
      return shuffle.apply(events(spark)).withColumn("p", expr("spark_partition_id()"));
    });
  }

  static Dataset<Row> events(SparkSession spark) {
    return Tables.events(spark, ROWS, SLICES);
  }

  static Dataset<Row> byUsersFunction(Dataset<Row> data) {
    UDF1<String, Integer> length = text -> text == null ? null : text.length() % 5;
    data.sparkSession().udf().register("length_of", length, DataTypes.IntegerType);
    return data.repartition(7, expr("length_of(name)"), col("k"));
  }

  /** Spark computes equal subqueries once: it replaces one of them after the plan was changed. */
  static Dataset<Row> bySubquery(Dataset<Row> data, String clause) {
    data.createOrReplaceTempView("events");
    String maximum = "(SELECT max(id) FROM range(7))";
    return data.sparkSession().sql("SELECT id, k, name, " + maximum + " AS seven FROM events " + clause + " (k + 1) % "
        + maximum + ", id");
  }

  static Dataset<Row> join(SparkSession spark) {
    Dataset<Row> right = spark.range(0, 500, 1, SLICES).selectExpr("id AS k", "concat('right ', id) AS right");
    return events(spark).join(right, "k");
  }

  static Dataset<Row> joinOfTypes(SparkSession spark) {
    Dataset<Row> right = spark.range(0, 500, 1, SLICES).selectExpr("CAST(id AS INT) AS number", "id AS right");
    return events(spark).join(right, col("k").equalTo(col("number")));
  }

  /** Zeros of both signs are equal, and NaNs. */
  static Dataset<Row> joinOfDoubles(SparkSession spark) {
    Dataset<Row> left = events(spark).selectExpr("id", "name",
        "CASE WHEN k % 50 = 0 THEN CAST('NaN' AS DOUBLE) WHEN k % 50 = 1 THEN -0.0D ELSE CAST(k AS DOUBLE) END AS x");
    Dataset<Row> right = spark.range(0, 100, 1, SLICES).selectExpr(
        "CASE WHEN id = 3 THEN CAST('NaN' AS DOUBLE) ELSE CAST(id AS DOUBLE) END AS y", "id AS right");
    return left.join(right, col("x").equalTo(col("y")));
  }
}
