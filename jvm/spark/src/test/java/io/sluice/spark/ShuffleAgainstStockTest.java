package io.sluice.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.metrics.Counter;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.functions;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Real queries on Sluice and on Spark's own shuffle give the same rows. */
@Timeout(180)
class ShuffleAgainstStockTest {
  private static LocalSpark spark;

  @BeforeAll
  static void start() {
    spark = LocalSpark.start(Map.of());
  }

  @AfterAll
  static void stop() {
    spark.close();
  }

  @AfterEach
  void nothingIsHeld() {
    assertEquals(0, spark.counter(Counter.MEMORY_LEAKED_BYTES));
    assertEquals(0, spark.manager().executorState().memory().budget().usedBytes());
  }

  /** Compares the rows without regard to order; the query's own shuffles must have taken our path. */
  private static void assertSame(Supplier<Dataset<Row>> query) {
    long before = spark.counter(Counter.SHUFFLES_ROWS);
    List<String> ours = sorted(spark.onSluice(query));
    assertTrue(spark.counter(Counter.SHUFFLES_ROWS) > before, "no shuffle took the rows path");
    assertEquals(sorted(spark.onStock(query)), ours);
  }

  private static List<String> sorted(List<Row> rows) {
    return rows.stream().map(Row::toString).sorted().collect(Collectors.toList());
  }

  private static Dataset<Row> table(long rows) {
    return spark.session().range(0, rows, 1, 4).selectExpr(
        "id", "xxhash64(id) % 1000 as k", "cast(id % 365 as int) as d", "id / 7.0D as x",
        "case when id % 3 = 0 then null else concat('name_', id % 100) end as name",
        "cast(id as decimal(10, 2)) as small", "cast(id * 1000003 as decimal(38, 6)) as large");
  }

  @VariantsInAll(oneOf = 2)
  @ParameterizedTest
  @ValueSource(ints = {1, 7, 200, 600})
  void repartition(int partitions) {
    assertSame(() -> table(20_000).repartition(partitions, functions.col("k")));
  }

  @Test
  void roundRobin() {
    assertSame(() -> table(5_000).repartition(13));
  }

  @Test
  void zeroRows() {
    assertSame(() -> table(1000).where("id < 0").repartition(5, functions.col("k")));
  }

  @Test
  void someMapTasksWithoutRows() {
    assertSame(() -> table(1000).where("id < 10").repartition(5, functions.col("k")));
  }

  @Test
  void zeroColumns() {
    Supplier<Dataset<Row>> query = () -> table(1000).select().repartition(5);
    assertEquals(1000, spark.onSluice(query).size());
    assertEquals(0, spark.onSluice(query).get(0).length());
  }

  @InAll
  @Test
  void stringsLongerThanAPage() {
    assertSame(() -> spark.session().range(0, 12, 1, 3)
        .selectExpr("id", "repeat(cast(id as string), 3000000) as text").repartition(4, functions.col("id"))
        .selectExpr("id", "length(text)", "md5(text)"));
  }

  @Test
  void nestedTypes() {
    assertSame(() -> table(3_000).selectExpr("k", "array(id, k, null) as a", "map('x', name, 'y', null) as m",
        "struct(d, struct(name, large)) as s", "cast(null as string) as n", "array() as e",
        "date_from_unix_date(d) as day", "timestamp_seconds(id) as t", "cast(name as binary) as b")
        .repartition(9, functions.col("k")).selectExpr("k", "a", "to_json(m)", "s", "n", "e", "day", "t", "hex(b)"));
  }

  @Test
  void joinAndAggregateAndSort() {
    spark.session().conf().set("spark.sql.autoBroadcastJoinThreshold", "-1");
    assertSame(() -> table(5_000).as("a").join(table(5_000).as("b"), "id").groupBy("a.d")
        .agg(functions.count("*"), functions.sum("b.large")).orderBy("d"));
  }

  @Test
  void globalSortIsSorted() {
    List<Row> rows = spark.onSluice(() -> table(10_000).orderBy("k", "id").select("k", "id"));
    for (int i = 1; i < rows.size(); i++) {
      Row a = rows.get(i - 1);
      Row b = rows.get(i);
      assertTrue(a.getLong(0) < b.getLong(0) || a.getLong(0) == b.getLong(0) && a.getLong(1) < b.getLong(1));
    }
    assertEquals(10_000, rows.size());
  }

  @Test
  void adaptiveExecution() {
    spark.session().conf().set("spark.sql.adaptive.enabled", "true");
    try {
      assertSame(() -> table(20_000).groupBy("k").agg(functions.max("name"), functions.sum("x")));
    } finally {
      spark.session().conf().set("spark.sql.adaptive.enabled", "false");
    }
  }
}
