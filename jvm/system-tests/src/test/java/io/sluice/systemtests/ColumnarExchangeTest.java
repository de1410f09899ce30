package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.sluice.spark.exchange.BatchedRows;
import io.sluice.spark.metrics.Counter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/**
 * Exchanges directly above columnar nodes are written from batches, and give what stock gives; the bytes are those that
 * are written from rows.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ColumnarExchangeTest {
  private static final String SETTING = "spark.sluice.columnar";
  private static final long ROWS = 6_000;
  private static final String[] COLUMNS = {"id", "c_boolean", "c_byte", "c_short", "c_int", "c_long", "c_float",
    "c_double", "CAST(id % 90000 AS DECIMAL(7, 2)) AS c_decimal_in_int", "c_decimal_in_long", "c_decimal_in_bytes",
    "c_date", "c_timestamp", "c_timestamp_ntz", "c_year_month_interval", "c_day_time_interval", "c_string", "c_binary",
    "concat('word ', id % 10) AS word"};

  private static final UnaryOperator<Dataset<Row>> BY_WORD = data -> data.repartition(7, col("word"));

  private static Path folder;
  private final List<Query> queries = queries();
  private final List<Query> more = more();
  private Map<String, Fingerprint> expected;
  private SparkApplication application;

  /** Of all types, readers and vectors. */
  private static List<Query> queries() {
    List<Query> queries = new ArrayList<>();
    for (String format : List.of("parquet", "orc")) {
      queries.add(placed(format + " by numbers and text", format, data -> data.repartition(7, col("c_byte"),
          col("c_short"), col("c_int"), col("c_float"), col("c_decimal_in_long"), col("c_string"))));
      queries.add(placed(format + " by the other types", format, data -> data.repartition(13, col("c_boolean"),
          col("c_double"), col("c_decimal_in_int"), col("c_decimal_in_bytes"), col("c_date"), col("c_timestamp"),
          col("c_timestamp_ntz"), col("c_year_month_interval"), col("c_day_time_interval"), col("c_binary"))));
    }
    queries.add(placed("vectors outside the heap", "parquet", BY_WORD)
        .with("spark.sql.columnVector.offheap.enabled", "true"));
    queries.add(placed("values of the files' folders", "folders", BY_WORD));
    queries.add(Query.of("a column that the files lack", spark -> BY_WORD.apply(
        spark.read().schema("id BIGINT, absent STRING, gone DECIMAL(30, 2), word STRING").parquet(path("parquet")))));
    queries.add(ranged("ranges of text", "parquet", col("c_string").desc_nulls_last(), col("c_float"), col("id")));
    queries.add(Query.of("Arrow vectors", spark -> ArrowSource.table(spark).repartition(7, col("name"), col("total"))
        .selectExpr("*", "spark_partition_id() AS p")));
    return queries;
  }

  /** Plans and settings. */
  private static List<Query> more() {
    return List.of(
        placed("one partition", "parquet", data -> data.repartition(1)),
        Query.of("without generated code", spark -> ArrowSource.table(spark).repartition(7, col("id"))
            .selectExpr("*", "spark_partition_id() AS p")).with("spark.sql.codegen.wholeStage", "false"),
        placed("adaptive", "parquet", BY_WORD).with("spark.sql.adaptive.enabled", "true"),
        placed("small batches", "parquet", BY_WORD).with("spark.sql.parquet.columnarReaderBatchSize", "77"),
        ranged("ranges of decimals", "orc", col("c_decimal_in_bytes"), col("c_decimal_in_int").desc()),
        ranged("ranges of times", "parquet", col("c_timestamp").desc_nulls_first(), col("c_date"), col("c_int")),
        Query.ordered("sort", spark -> table(spark, "parquet").orderBy(col("c_double").desc_nulls_last(), col("id"))),
        Query.of("window", spark -> table(spark, "parquet").selectExpr("id", "word",
            "row_number() OVER (PARTITION BY word ORDER BY id DESC) AS n")),
        Query.of("outer join", spark -> table(spark, "parquet").as("l").hint("merge")
            .join(table(spark, "orc").as("r").hint("merge"), col("l.id").equalTo(col("r.c_int")), "full_outer")
            .select("l.id", "l.c_string", "r.c_binary")));
  }

  private static Query placed(String name, String format, UnaryOperator<Dataset<Row>> shuffle) {
    return Query.of(name, spark -> shuffle.apply(table(spark, format)).selectExpr("*", "spark_partition_id() AS p"));
  }

  private static Query ranged(String name, String format, Column... keys) {
    return Query.of(name, spark -> {
      // All rows are sampled, so that bounds do not depend on the sample.
      spark.conf().set("spark.sql.execution.rangeExchange.sampleSizePerPartition", "10000");
      return table(spark, format).repartitionByRange(7, keys).selectExpr("*", "spark_partition_id() AS p");
    });
  }

  private static String path(String format) {
    return folder.resolve(format).toString();
  }

  private static Dataset<Row> table(SparkSession spark, String format) {
    return spark.read().format(format.equals("folders") ? "parquet" : format).load(path(format));
  }

  @BeforeAll
  void start() {
    assumeTrue(Engine.writesFrames(), "Spark's own writers take rows");
    folder = SparkApplication.workDir().resolve("columnar");
    try (SparkApplication stock = SparkApplication.on(Engine.STOCK).start()) {
      Dataset<Row> rows = Tables.allTypes(stock.session(), ROWS, 2).selectExpr(COLUMNS);
      rows.write().mode("overwrite").parquet(path("parquet"));
      rows.write().mode("overwrite").orc(path("orc"));
      rows.select("id", "c_string", "c_date", "word").where("c_date IS NULL OR c_date < '1970-01-05'")
          .write().mode("overwrite").partitionBy("c_date").parquet(path("folders"));
    }
    List<Query> all = new ArrayList<>(queries);
    all.addAll(more);
    expected = Query.onStock(all);
    // Files are read when nobody has their shuffle any more.
    application =
        SparkApplication.on(Engine.UNDER_TEST).set("spark.cleaner.referenceTracking", "false").start();
  }

  @AfterAll
  void stop() {
    if (application != null) {
      application.close();
      ShuffleFiles.deleteTree(folder);
    }
  }

  @Test
  void resultsAreStocksAndRowsComeFromBatches() {
    assertStocks(queries);
  }

  @Test
  @Tag("once")
  void plansOfManyKindsGiveStocksResults() {
    assertStocks(more);
  }

  private void assertStocks(List<Query> some) {
    for (Query query : some) {
      long before = rowsOfBatches();
      assertEquals(expected.get(query.name()), query.run(session()), query.name());
      assertTrue(rowsOfBatches() > before, () -> query + " was written from rows");
    }
    assertEquals(0, ProcessCounters.here(Counter.WRITE_PARTITIONS_REFUTED));
    NativeMemory.assertAllReturned();
  }

  @Test
  @Tag("once")
  void withTheSettingOffRowsAreMadeBefore() {
    for (String key : List.of(SETTING, "spark.sluice.sql.exchange", "spark.sluice.enabled")) {
      long before = rowsOfBatches();
      Query query = queries.get(0);
      assertEquals(expected.get(query.name()), query.with(key, "false").run(session()), key);
      assertEquals(before, rowsOfBatches(), key);
    }
  }

  @Test
  @Tag("once")
  void otherExchangesAreWrittenFromRows() {
    long before = rowsOfBatches();
    Dataset<Row> data = table(session(), "parquet");
    for (Dataset<Row> rows : List.of(data.repartition(7), data.repartitionByRange(7, col("id").plus(1)),
        data.repartition(7, col("id").plus(1)), data.where("id > 5").repartition(7, col("id")),
        data.selectExpr("id", "array(id) AS a").repartition(7, col("id")))) {
      rows.collectAsList();
    }
    assertEquals(before, rowsOfBatches());
  }

  /** The rows of one side are Spark's, because a filter is above its scan. */
  @Test
  @Tag("once")
  void aSideOfBatchesIsJoinedWithASideOfRows() {
    for (String join : List.of("left_outer", "right_outer", "full_outer")) {
      Supplier<Fingerprint> joined = () -> {
        Dataset<Row> all = table(session(), "parquet").as("l").hint("merge");
        Dataset<Row> some = table(session(), "orc").where("id % 3 = 1 OR id IS NULL").as("r").hint("merge");
        boolean batchesFirst = join.equals("left_outer");
        Dataset<Row> left = batchesFirst ? all : some;
        return Fingerprint.of(left.join(batchesFirst ? some : all, col("l.id").equalTo(col("r.id"))
            .and(col("l.word").equalTo(col("r.word"))), join).select("l.id", "l.c_string", "l.word", "r.c_int"))
            .unordered();
      };
      long before = rowsOfBatches();
      Fingerprint ours = joined.get();
      assertEquals(ROWS, rowsOfBatches() - before, join);
      assertEquals(with("spark.sluice.enabled", "false", joined), ours, join);
    }
  }

  @Test
  @Tag("once")
  void aCachedTableIsWrittenFromItsBatches() {
    Dataset<Row> cached = table(session(), "parquet").selectExpr("id", "c_int", "c_double", "c_boolean").cache();
    try {
      long before = rowsOfBatches();
      Supplier<Fingerprint> ours = () -> Fingerprint.of(
          cached.repartition(7, col("c_int")).selectExpr("*", "spark_partition_id() AS p")).unordered();
      Fingerprint fromBatches = ours.get();
      assertEquals(ROWS, rowsOfBatches() - before);
      assertEquals(with("spark.sluice.enabled", "false", ours), fromBatches);
    } finally {
      cached.unpersist(true);
    }
  }

  /** The node that makes rows stays in the plan, and counts as if it did. */
  @Test
  void plansAndTheirMetricsAreTheSame() {
    Function<String, Dataset<Row>> run = columnar -> with(SETTING, columnar, () -> {
      Dataset<Row> data = table(session(), "parquet").repartition(7, col("word"));
      data.collectAsList();
      return data;
    });
    Dataset<Row> batches = run.apply("true");
    Dataset<Row> rows = run.apply("false");
    assertEquals(Plans.shape(rows).stream().map(line -> line.replaceAll("\\(\\d+\\)", "")).toList(),
        Plans.shape(batches).stream().map(line -> line.replaceAll("\\(\\d+\\)", "")).toList());
    for (String metric : List.of("numOutputRows", "numInputBatches", "dataSize", "shuffleRecordsWritten",
        "shuffleBytesWritten")) {
      assertEquals(Plans.metric(rows, metric), Plans.metric(batches, metric), metric);
    }
  }

  @Test
  void theFilesAreThoseOfRows() {
    assumeTrue(Engine.mode().equals("MULTITHREADED"), "outputs in memory have no files");
    for (String format : List.of("parquet", "orc")) {
      for (String key : List.of("id", "word")) {
        Supplier<List<byte[]>> files = () -> files(table(session(), format).repartition(7, col(key)));
        List<byte[]> ofBatches = files.get();
        List<byte[]> ofRows = with(SETTING, "false", files);
        assertEquals(ofRows.size(), ofBatches.size());
        for (int i = 0; i < ofRows.size(); i++) {
          assertArrayEquals(ofRows.get(i), ofBatches.get(i), format + " by " + key);
        }
      }
    }
  }

  private List<byte[]> files(Dataset<Row> data) {
    Plans.shuffleSizes(data);
    List<byte[]> files = new ArrayList<>();
    for (Path file : ShuffleFiles.newestShuffle(application.localDir())) {
      try {
        files.add(Files.readAllBytes(file));
      } catch (IOException e) {
        throw new IllegalStateException(e);
      }
    }
    // The numbers of map tasks in their names differ.
    files.sort(Comparator.comparingInt(Arrays::hashCode));
    return files;
  }

  /** Spark 4.1 and later compare them when a task runs again. */
  @Test
  @Tag("once")
  void rowChecksumsAreStocks() {
    Supplier<List<Long>> checksums = () -> Plans.rowChecksums(table(session(), "parquet").repartition(7, col("word")));
    List<Long> ofBatches = checksums.get();
    assertTrue(ofBatches.stream().allMatch(checksum -> checksum != 0), ofBatches::toString);
    assertEquals(with("spark.sluice.enabled", "false", checksums), ofBatches);
  }

  @Test
  @Tag("once")
  void aBatchOfOtherColumnsThanThePlansFailsWithItsReason() {
    Exception failure = assertThrows(
        Exception.class, () -> ArrowSource.tableWithColumns(session(), 4).repartition(7, col("id")).collectAsList());
    assertTrue(failure.getMessage().contains("a batch has 4 columns, and the plan 6: struct<id:bigint,even:boolean,"),
        failure::getMessage);
    NativeMemory.assertAllReturned();
  }

  /** A plan that divides its input anew each time it is asked has other splits of batches than of rows. */
  @Test
  void batchesOfOtherSplitsThanTheRowsAreNotTaken() throws ReflectiveOperationException {
    RDD<?> arrow = Plans.batches(ArrowSource.table(session()));
    RDD<?> both = rowsOrBatches(arrow, arrow);
    assertEquals(2, both.dependencies().size());
    assertTrue(both.iterator(both.partitions()[0], null) instanceof BatchedRows);
    for (int partitions : new int[] {ArrowSource.PARTITIONS, ArrowSource.PARTITIONS + 1}) {
      RDD<?> others = session().range(0, 100, 1, partitions).queryExecution().toRdd();
      RDD<?> rows = rowsOrBatches(others, arrow);
      assertEquals(1, rows.dependencies().size());
      assertEquals(100, rows.count());
    }
  }

  /** The package depends on Scala's version. */
  private static RDD<?> rowsOrBatches(RDD<?> rows, RDD<?> batches) throws ReflectiveOperationException {
    String scala = System.getenv("SPARK_SCALA_VERSION").equals("2.12") ? "scala212." : "";
    return (RDD<?>) Class.forName("io.sluice.spark.sql." + scala + "plan.RowsOrBatches")
        .getConstructors()[0].newInstance(rows, batches, null, null);
  }

  private SparkSession session() {
    return application.session();
  }

  private static long rowsOfBatches() {
    return ProcessCounters.here(Counter.WRITE_ROWS_OF_BATCHES);
  }

  private <T> T with(String key, String value, Supplier<T> action) {
    session().conf().set(key, value);
    try {
      return action.get();
    } finally {
      session().conf().unset(key);
    }
  }
}
