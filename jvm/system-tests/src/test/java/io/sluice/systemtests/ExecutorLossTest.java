package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.Serializable;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.stream.LongStream;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import scala.Tuple2;

/** An executor process dies in the middle of a shuffle; Spark runs its tasks again and the result is right. */
class ExecutorLossTest {
  private static final long ROWS = 100_000;
  private static final long FATAL_ID = 61_803;

  private SparkApplication application;
  private Path marker;

  @BeforeEach
  void start() {
    application = SparkApplication.on(Engine.UNDER_TEST).master(SparkApplication.CLUSTER).start();
    marker = application.localDir().resolve("died");
    ExecutorDeath.register(application.session(), "fatal", marker, FATAL_ID);
  }

  @AfterEach
  void stop() {
    application.close();
  }

  @Test
  void executorLostWhileWriting() {
    Dataset<Row> data = events().selectExpr("fatal(id) AS id", "k", "name").repartition(8, col("k"));
    assertSurvives(data, events().select("id", "k", "name"));
  }

  @Test
  void executorLostWhileReading() {
    Dataset<Row> data = events().repartition(8, col("k")).selectExpr("fatal(id) AS id", "k", "name");
    assertSurvives(data, events().select("id", "k", "name"));
  }

  @InAll
  @Test
  @Tag("once")
  void executorLostWhileSortedRowsAreRead() {
    Dataset<Row> data = events().orderBy("k", "id").selectExpr("fatal(id) AS id", "k", "name");
    assertEquals(Engine.UNDER_TEST.isSluice(),
        Plans.queryExecution(data).executedPlan().toString().contains("SluiceSort"));
    assertSurvives(data, events().select("id", "k", "name"));
  }

  /** Sorted by an order of the job's own, and combined. */
  @InAll
  @Test
  @Tag("once")
  void executorLostWhileRecordsAreSortedAndCombined() {
    JavaPairRDD<Long, Long> counted = application.session().range(0, ROWS, 1, 4).javaRDD()
        .mapToPair(id -> new Tuple2<>(id / 2, 1L)).reduceByKey(Long::sum, 4);
    JavaRDD<Long> keys = counted.sortByKey(new Downwards(), true, 4).flatMap(
        record -> LongStream.range(0, record._2()).map(i -> 2 * record._1() + i).boxed().iterator());
    Dataset<Row> data =
        application.session().createDataset(keys.rdd(), Encoders.LONG()).selectExpr("fatal(value) AS id");
    assertSurvives(data, application.session().range(ROWS).toDF("id"));
  }

  private static final class Downwards implements Comparator<Long>, Serializable {
    private static final long serialVersionUID = 1L;

    @Override
    public int compare(Long left, Long right) {
      return Long.compare(right, left);
    }
  }

  private Dataset<Row> events() {
    return Tables.events(application.session(), ROWS, 4);
  }

  private void assertSurvives(Dataset<Row> data, Dataset<Row> unshuffled) {
    Fingerprint expected = Fingerprint.of(unshuffled).unordered();
    assertEquals(expected, Fingerprint.of(data).unordered());
    assertTrue(Files.exists(marker), "no executor died");
  }
}
