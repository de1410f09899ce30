package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.sluice.spark.exchange.ExchangeBatches;
import io.sluice.spark.metrics.Counter;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.UnaryOperator;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.metric.SQLMetrics;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** A columnar operator above an exchange of rows gets batches that are decoded from frames, with stock's values. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ColumnarReadTest {
  private static final long ROWS = 20_000;
  private static final String[] ATOMIC = {"id", "c_boolean", "c_byte", "c_short", "c_int", "c_long", "c_float",
    "c_double", "CAST(id % 90000 AS DECIMAL(7, 2)) AS c_decimal_in_int", "c_decimal_in_long", "c_decimal_in_bytes",
    "c_date", "c_timestamp", "c_timestamp_ntz", "c_year_month_interval", "c_day_time_interval", "c_string", "c_binary",
    "concat('word ', id % 10) AS word"};

  private final List<Query> queries = List.of(
      shuffled("by a hash", data -> data.repartition(3, col("word"))),
      shuffled("by ranges", data -> data.repartitionByRange(3, col("id"))),
      shuffled("round robin", data -> data.repartition(3)),
      shuffled("one partition", data -> data.repartition(1)),
      shuffled("adaptive", data -> data.repartition(col("word"))).with("spark.sql.adaptive.enabled", "true"),
      shuffled("small batches", data -> data.repartition(3, col("word")))
          .with("spark.sql.inMemoryColumnarStorage.batchSize", "77"),
      shuffled("no rows", data -> data.where("id < 0").repartition(3, col("word"))),
      shuffled("long rows", data -> data.where("id < 20").selectExpr("id", "repeat(word, 100000) AS text")
          .repartition(3, col("id"))),
      // 8 bytes for each of its characters, so a frame of its own; the others are small.
      shuffled("a row of 40 MiB", data -> data.where("id < 20")
          .selectExpr("id", "IF(id = 7, repeat('longrows', 5242880), word) AS text").repartition(2, col("id"))));

  private Map<String, Fingerprint> expected;
  private SparkApplication application;

  private static Query shuffled(String name, UnaryOperator<Dataset<Row>> shuffle) {
    return Query.of(name, spark -> shuffle.apply(data(spark)));
  }

  private static Dataset<Row> data(SparkSession spark) {
    return Tables.allTypes(spark, ROWS, 2).selectExpr(ATOMIC);
  }

  @BeforeAll
  void start() {
    assumeTrue(Engine.writesFrames(), "Spark's own format is made of rows");
    expected = Query.onStock(queries);
    application = SparkApplication.on(Engine.UNDER_TEST).set("spark.sql.extensions", BatchEngine.class.getName())
        .start();
  }

  @AfterAll
  void stop() {
    if (application != null) {
      application.close();
    }
  }

  @Test
  void batchesHaveStocksValues() {
    for (Query query : queries) {
      long before = rowsOfBatches();
      assertEquals(expected.get(query.name()), query.with(BatchEngine.ENABLED, "true").run(session()), query.name());
      assertTrue(rowsOfBatches() > before || query.name().equals("no rows"), () -> query.name() + " was read as rows");
    }
    NativeMemory.assertAllReturned();
  }

  /** The last batch stays as it is when the operator was told that there is no other one. */
  @Test
  void anOperatorMayLookAhead() {
    assertRows(ColumnarReadTest::lookingAhead);
  }

  @Test
  void anOperatorMayPullOnAnotherThread() {
    assertRows(ColumnarReadTest::onOtherThreads);
  }

  private static Iterator<ColumnarBatch> lookingAhead(Iterator<ColumnarBatch> batches) {
    return new Iterator<>() {
      private boolean more = batches.hasNext();

      @Override
      public boolean hasNext() {
        return more;
      }

      @Override
      public ColumnarBatch next() {
        ColumnarBatch batch = batches.next();
        more = batches.hasNext();
        return batch;
      }
    };
  }

  private static Iterator<ColumnarBatch> onOtherThreads(Iterator<ColumnarBatch> batches) {
    return new Iterator<>() {
      @Override
      public boolean hasNext() {
        return onOtherThread(batches::hasNext);
      }

      @Override
      public ColumnarBatch next() {
        return onOtherThread(batches::next);
      }
    };
  }

  private static <T> T onOtherThread(Callable<T> pull) {
    ExecutorService thread = Executors.newSingleThreadExecutor();
    try {
      return thread.submit(pull).get();
    } catch (InterruptedException | ExecutionException e) {
      throw new IllegalStateException("on the other thread", e);
    } finally {
      thread.shutdown();
    }
  }

  /** Rows of batches that an operator takes are those that Spark's operators get. */
  private void assertRows(Operator operator) {
    Dataset<Row> data = consumed(data(session()).repartition(3, col("word")));
    long before = rowsOfBatches();
    StructType schema = data.schema();
    List<Integer> ours =
        batches(data).toJavaRDD().mapPartitions(batches -> hashes(operator.take(batches), schema)).collect();
    assertEquals(ROWS, rowsOfBatches() - before);
    List<Integer> sparks = Plans.rows(data(session()).repartition(3, col("word")))
        .map(row -> ((UnsafeRow) row).hashCode()).collect();
    assertEquals(sparks.stream().sorted().toList(), ours.stream().sorted().toList());
    NativeMemory.assertAllReturned();
  }

  /** What the node that Sluice has put above the exchange gives. */
  @SuppressWarnings("unchecked")
  private static RDD<ColumnarBatch> batches(Dataset<Row> data) {
    return (RDD<ColumnarBatch>) Plans.batches(data);
  }

  /** How an operator takes a task's batches. */
  private interface Operator extends Serializable {
    Iterator<ColumnarBatch> take(Iterator<ColumnarBatch> batches);
  }

  private static Iterator<Integer> hashes(Iterator<ColumnarBatch> batches, StructType schema) {
    UnsafeProjection projection = UnsafeProjection.create(schema);
    List<Integer> hashes = new ArrayList<>();
    batches.forEachRemaining(
        batch -> batch.rowIterator().forEachRemaining(row -> hashes.add(projection.apply(row).hashCode())));
    return hashes.iterator();
  }

  /** Sluice's node stands for Spark's, with its metrics. */
  @Test
  void plansShowWhoMadeTheBatches() {
    Dataset<Row> ours = run("spark.sluice.columnar", "true");
    assertTrue(Plans.shape(ours).stream().anyMatch(line -> line.contains("SluiceBatches")),
        Plans.shape(ours)::toString);
    Dataset<Row> sparks = run("spark.sluice.columnar", "false");
    assertEquals(Plans.shape(sparks).stream().map(line -> line.replace("RowToColumnar", "SluiceBatches")).toList(),
        Plans.shape(ours));
    assertEquals(List.of(ROWS), Plans.metric(sparks, "numInputRows"));
    assertEquals(List.of(ROWS), Plans.metric(ours, "numInputRows"));
  }

  /** As of an exchange whose shuffle is Spark's, or on an executor without the native library. */
  @Test
  void rowsOfOtherReadersBecomeSparksBatches() {
    Dataset<Row> data = data(session()).repartition(3, col("word"));
    SQLMetric rows = SQLMetrics.createMetric(session().sparkContext(), "rows");
    SQLMetric batchCount = SQLMetrics.createMetric(session().sparkContext(), "batches");
    // To Spark a function of its own is between, so what comes is no reader's iterator.
    RDD<InternalRow> others = Plans.rows(data).map(row -> row).rdd();
    ExchangeBatches batches = new ExchangeBatches(others, data.schema(), 100, rows, batchCount);
    StructType schema = data.schema();
    long before = rowsOfBatches();
    List<Integer> ours = batches.toJavaRDD().mapPartitions(taken -> hashes(taken, schema)).collect();
    assertEquals(before, rowsOfBatches());
    List<Integer> sparks = Plans.rows(data).map(row -> ((UnsafeRow) row).hashCode()).collect();
    assertEquals(sparks.stream().sorted().toList(), ours.stream().sorted().toList());
    assertEquals(ROWS, rows.value());
    assertTrue(batchCount.value() >= ROWS / 100, batchCount::toString);
  }

  /** The setting of exchanges is one of reading, too; and Spark's off-heap vectors are Spark's. */
  @Test
  void settingsLeaveSparksNode() {
    for (Map.Entry<String, String> setting : Map.of("spark.sluice.sql.exchange", "false",
        "spark.sql.columnVector.offheap.enabled", "true").entrySet()) {
      Dataset<Row> data = run(setting.getKey(), setting.getValue());
      assertFalse(Plans.shape(data).stream().anyMatch(line -> line.contains("SluiceBatches")), setting.getKey());
    }
  }

  /** Rows of types without columns come as Spark's batches. */
  @Test
  @Tag("once")
  void otherExchangesAreReadAsRows() {
    long before = rowsOfBatches();
    Dataset<Row> nested = consumed(Tables.allTypes(session(), ROWS, 2)
        .selectExpr("id", "array(id, c_int) AS pair").repartition(3, col("id")));
    nested.collectAsList();
    assertFalse(Plans.shape(nested).stream().anyMatch(line -> line.contains("SluiceBatches")));
    assertEquals(before, rowsOfBatches());
  }

  private Dataset<Row> run(String key, String value) {
    session().conf().set(key, value);
    try {
      Dataset<Row> data = consumed(data(session()).repartition(3, col("word")));
      data.collectAsList();
      return data;
    } finally {
      session().conf().unset(key);
    }
  }

  /** With its plan made, so that the setting may be unset again. */
  private Dataset<Row> consumed(Dataset<Row> data) {
    session().conf().set(BatchEngine.ENABLED, "true");
    try {
      Plans.queryExecution(data).executedPlan();
      return data;
    } finally {
      session().conf().unset(BatchEngine.ENABLED);
    }
  }

  private static long rowsOfBatches() {
    return ProcessCounters.here(Counter.READ_ROWS_OF_BATCHES);
  }

  private SparkSession session() {
    return application.session();
  }
}
