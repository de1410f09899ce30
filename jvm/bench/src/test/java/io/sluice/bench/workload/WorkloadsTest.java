package io.sluice.bench.workload;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.bench.check.Digest;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Every workload on a Spark inside this JVM. */
class WorkloadsTest {

  private static final Sizing SIZING = new Sizing(2_000, 3, 5);
  private static JavaSparkContext context;
  private static SparkSession spark;

  @BeforeAll
  static void start() {
    context = new JavaSparkContext(new SparkConf().setMaster("local[2]").setAppName("workloads")
        .set("spark.ui.enabled", "false").set("spark.driver.host", "127.0.0.1")
        .set("spark.sql.warehouse.dir", "target/warehouse"));
    spark = SparkSession.builder().getOrCreate();
  }

  @AfterAll
  static void stop() {
    context.stop();
  }

  @Test
  void resultsHaveTheExpectedSizeAndOrder() {
    long distinctKeys = BenchTable.of(spark, SIZING).select("k").distinct().count();
    Map<String, Long> expected = Map.of("generate", 2_000L, "repartition", 2_000L, "sort", 2_000L, "join", 2_000L,
        "aggregate", distinctKeys, "terasort-df", 2_000L);
    for (Catalogue.Entry entry : Catalogue.entries()) {
      Digest digest = Catalogue.create(entry.name()).verify(spark, SIZING);
      assertEquals(expected.get(entry.name()), digest.rows(), entry.name());
      assertTrue(digest.ordered(), entry.name());
    }
  }

  @Test
  void shufflingKeepsTheTable() {
    Digest table = new Generate().verify(spark, SIZING);
    assertEquals(table, new Repartition().verify(spark, SIZING));
    assertEquals(table, new GlobalSort().verify(spark, SIZING));
  }

  @Test
  void everyWorkloadRunsIntoTheSink() {
    Catalogue.entries().forEach(entry -> Catalogue.create(entry.name()).run(spark, SIZING));
  }

  @Test
  void anUnsortedResultIsNotTakenForSorted() {
    DataFrameWorkload unsorted = new DataFrameWorkload() {
      @Override
      protected Dataset<Row> query(SparkSession session, Sizing sizing) {
        return BenchTable.of(session, sizing);
      }

      @Override
      protected List<Integer> order() {
        return List.of(1);
      }
    };
    assertFalse(unsorted.verify(spark, SIZING).ordered());
  }

  @Test
  void tableHasTheDocumentedColumns() {
    List<String> columns = Arrays.stream(BenchTable.of(spark, SIZING).dtypes())
        .map(column -> column._1() + " " + column._2()).toList();
    assertEquals(List.of("id LongType", "k LongType", "d IntegerType", "x DoubleType", "s IntegerType",
        "name StringType", "y LongType", "c IntegerType"), columns);
  }

  @Test
  void unknownWorkloadsAreRefusedWithTheKnownOnes() {
    String message = assertThrows(IllegalArgumentException.class, () -> Catalogue.find("shuffle")).getMessage();
    assertTrue(message.contains("repartition"), message);
  }
}
