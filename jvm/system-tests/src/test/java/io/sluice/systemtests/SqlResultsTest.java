package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.expr;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** SQL operators that shuffle, across two executor processes, against the same queries on stock. */
class SqlResultsTest {
  private static final long ROWS = 200_000;
  private static final int SLICES = 6;

  private static Map<String, Fingerprint> expected;
  private static SparkApplication application;

  /** Every other one; with {@code ./sluice test --all} all of them. */
  static List<Query> queries() {
    List<Query> queries = new ArrayList<>(operators());
    queries.addAll(partitionCounts());
    queries.addAll(shapes());
    if (Boolean.getBoolean("systemtests.inAll")) {
      return queries;
    }
    List<Query> half = new ArrayList<>();
    for (int i = 0; i < queries.size(); i += 2) {
      half.add(queries.get(i));
    }
    return half;
  }

  private static List<Query> operators() {
    return List.of(
        Query.moving("repartition by key", SqlResultsTest::events, rows -> rows.repartition(20, col("k"))),
        Query.moving("repartition round robin", SqlResultsTest::events, rows -> rows.repartition(7)),
        Query.moving("repartition by range", SqlResultsTest::events,
            rows -> rows.repartitionByRange(9, col("name"), col("id"))),
        Query.ordered("sort", spark -> events(spark).orderBy(col("k"), col("id").desc())),
        Query.of("sort-merge join", spark -> join(spark, "inner", "merge")),
        Query.of("shuffled hash join", spark -> join(spark, "inner", "shuffle_hash")),
        Query.of("full outer join", spark -> join(spark, "full_outer", "merge")),
        Query.of("left anti join", spark -> join(spark, "left_anti", "merge")),
        Query.of("hash aggregate",
            spark -> events(spark).groupBy("k").agg(expr("sum(y)"), expr("max(name)"), expr("count(1)"))),
        Query.of("sort aggregate",
            spark -> events(spark).groupBy("name").agg(expr("max(name)"), expr("min(struct(k, id))"))),
        Query.of("object aggregate", spark -> events(spark).groupBy("d").agg(expr("sort_array(collect_list(id))"))),
        Query.of("count distinct",
            spark -> events(spark).groupBy("d").agg(expr("count(DISTINCT k)"), expr("count(DISTINCT s)"))),
        Query.of("window",
            spark -> events(spark).selectExpr("id", "row_number() OVER (PARTITION BY k ORDER BY id) AS r",
                "sum(y) OVER (PARTITION BY k) AS t")),
        Query.of("distinct union",
            spark -> events(spark).select("k", "s").union(events(spark).select("k", "s")).distinct()),
        Query.of("except", spark -> events(spark).select("id").except(events(spark).where("id % 3 = 0").select("id"))),
        Query.of("rollup", spark -> events(spark).rollup("d", "s").agg(expr("sum(y)"))),
        Query.of("exchange used twice", SqlResultsTest::selfJoinOfAggregate));
  }

  /**
   * From one partition to many more partitions than rows; many partitions are read in coalesced ranges, as AQE does.
   */
  private static List<Query> partitionCounts() {
    List<Query> queries = new ArrayList<>();
    for (int partitions : new int[] {1, 2, 201, 2000}) {
      queries.add(Query.moving(partitions + " partitions", SqlResultsTest::events,
          rows -> rows.repartition(partitions, col("k"), col("id"))));
    }
    int[] many = Boolean.getBoolean("systemtests.inAll") ? new int[] {20_000, 100_000} : new int[] {3_000};
    for (int partitions : many) {
      queries.add(Query
          .moving(partitions + " partitions, coalesced", spark -> events(spark).where("id < 30000"),
              rows -> rows.repartition(col("id")))
          .with("spark.sql.adaptive.enabled", "true")
          .with("spark.sql.adaptive.coalescePartitions.initialPartitionNum", Integer.toString(partitions)));
    }
    return queries;
  }

  private static List<Query> shapes() {
    return List.of(
        Query.moving("no rows", spark -> events(spark).where("id < 0"), rows -> rows.repartition(5, col("k"))),
        Query.moving("one row", spark -> events(spark).where("id = 77"), rows -> rows.repartition(5, col("k"))),
        Query.moving("no columns", spark -> events(spark).select(), rows -> rows.repartition(3)),
        Query.moving("empty map tasks", spark -> events(spark).where("id < 1000"),
            rows -> rows.repartition(5, col("k"))),
        Query.moving("all types by key", spark -> Tables.allTypes(spark, 20_000, 4),
            rows -> rows.repartition(11, col("id"))),
        Query.ordered("all types sorted",
            spark -> Tables.allTypes(spark, 20_000, 4).orderBy(col("c_string"), col("id"))),
        Query.moving("all columns null", SqlResultsTest::nulls, rows -> rows.repartition(5)),
        Query.moving("65 columns", spark -> wide(spark, 65), rows -> rows.repartition(5, col("id"))),
        Query.moving("300 columns", spark -> wide(spark, 300), rows -> rows.repartition(5, col("id"))),
        Query.moving("strings longer than a page", SqlResultsTest::longStrings, rows -> rows.repartition(4, col("id"))),
        Query.moving("skewed key", spark -> Tables.skewed(spark, ROWS, SLICES),
            rows -> rows.repartition(16, col("k"))));
  }

  private static Dataset<Row> nulls(SparkSession spark) {
    return spark.range(50_000).selectExpr("CAST(NULL AS STRING) AS a", "CAST(NULL AS BIGINT) AS b",
        "CAST(NULL AS ARRAY<INT>) AS c");
  }

  private static Dataset<Row> longStrings(SparkSession spark) {
    return spark.range(0, 24, 1, 3).selectExpr("id", "repeat(CAST(id AS STRING), 1500000) AS text");
  }

  private static Dataset<Row> events(SparkSession spark) {
    return Tables.events(spark, ROWS, SLICES);
  }

  private static Dataset<Row> wide(SparkSession spark, int columns) {
    String[] expressions = new String[columns];
    expressions[0] = "id";
    for (int i = 1; i < columns; i++) {
      expressions[i] =
          (i % 3 == 0 ? "CAST(id + " + i + " AS STRING)" : "IF(id % " + (i + 1) + " = 0, NULL, id * " + i + ")")
              + " AS c" + i;
    }
    return spark.range(0, 3000, 1, 3).selectExpr(expressions);
  }

  private static Dataset<Row> join(SparkSession spark, String type, String strategy) {
    Dataset<Row> left = events(spark).where("id % 3 <> 0");
    Dataset<Row> right = events(spark).where("id % 2 = 0").select(col("id"), col("name").as("other"), col("x").as("z"));
    return left.hint(strategy).join(right.hint(strategy), left.col("id").equalTo(right.col("id")), type);
  }

  private static Dataset<Row> selfJoinOfAggregate(SparkSession spark) {
    Dataset<Row> sums = events(spark).groupBy("k").agg(expr("sum(y) AS total"));
    return sums.as("a").join(sums.as("b"), expr("a.k = b.k")).selectExpr("a.k", "a.total + b.total AS both");
  }

  @BeforeAll
  static void start() {
    expected = Query.onStock(queries());
    application = SparkApplication.on(Engine.UNDER_TEST).master(SparkApplication.CLUSTER).start();
  }

  @AfterAll
  static void stop() {
    application.close();
  }

  @ParameterizedTest
  @MethodSource("queries")
  void sameRowsAsStock(Query query) {
    assertEquals(expected.get(query.name()), query.run(application.session()));
    assertEquals(0, application.events().retriedStages(), "a stage was retried on the way");
  }
}
