package io.sluice.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.metrics.Counter;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.Supplier;
import java.util.zip.CRC32;
import org.apache.spark.HashPartitioner;
import org.apache.spark.api.java.function.MapFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import scala.Tuple2;

/** One row of 100 MiB that does not compress, among small ones, on one core with Sluice's default settings. */
@Timeout(300)
class LargeRowTest {
  private static final int LARGE = 100 << 20;
  private static final String LIMIT = "spark.sluice.memory.limit";

  private static byte[] bytes(long id, int large) {
    byte[] bytes = new byte[id == 5 ? large : 10];
    new Random(id).nextBytes(bytes);
    return bytes;
  }

  private static String describe(byte[] bytes) {
    CRC32 sum = new CRC32();
    sum.update(bytes);
    return bytes.length + ":" + sum.getValue();
  }

  private static Dataset<Row> rows(LocalSpark spark, int large) {
    return spark.session().range(0, 10, 1, 1)
        .map((MapFunction<Long, byte[]>) id -> bytes(id, large), Encoders.BINARY()).toDF("bytes").repartition(3)
        .as(Encoders.BINARY()).map((MapFunction<byte[], String>) LargeRowTest::describe, Encoders.STRING()).toDF("row")
        .orderBy("row");
  }

  @Test
  void aLargeRowPassesInSqlAsOnStock() {
    try (LocalSpark spark = LocalSpark.start("local[1]", Map.of("spark.task.maxFailures", "1"))) {
      Supplier<Dataset<Row>> query = () -> rows(spark, LARGE);
      List<Row> rows = spark.onSluice(query);
      assertEquals(spark.onStock(query), rows);
      assertTrue(rows.toString().contains("[" + LARGE + ":"), rows::toString);
      assertEquals(0, spark.counter(Counter.MEMORY_TIMEOUTS));
    }
  }

  @InAll
  @Test
  void aLargeRecordPassesInAnRddAsOnStock() {
    try (RddOnBothEngines spark = RddOnBothEngines.start(Map.of("spark.task.maxFailures", "1"))) {
      spark.assertSame(context -> context.parallelize(List.of(1, 5, 7), 1)
          .mapToPair(id -> new Tuple2<>(id, bytes(id, LARGE))).partitionBy(new HashPartitioner(2))
          .map(record -> record._1() + ":" + describe(record._2())).collect().stream().sorted().toList());
    }
  }

  /** Round-robin repartitioning sorts, which takes the row once; its shuffle would take it twice and more. */
  @InAll
  @Test
  void rowsThatFitSparksOffHeapMemoryOncePass() {
    try (LocalSpark spark = LocalSpark.start("local[1]", Map.of("spark.task.maxFailures", "1",
        "spark.memory.offHeap.enabled", "true", "spark.memory.offHeap.size", "200m"))) {
      List<Row> rows = spark.onSluice(() -> rows(spark, LARGE));
      assertEquals(1, spark.counter(Counter.WRITE_ROWS_TO_FILES));
      assertTrue(rows.toString().contains("[" + LARGE + ":"), rows::toString);
    }
  }

  /** The rows are in a file, then on the heap, where stock has them too. */
  @InAll
  @Test
  void rowsThatDoNotFitTheLimitPassAsOnStock() {
    Map<String, String> small = Map.of("spark.task.maxFailures", "1", LIMIT, "64m");
    try (LocalSpark spark = LocalSpark.start("local[1]", small)) {
      Supplier<Dataset<Row>> query = () -> rows(spark, LARGE);
      List<Row> rows = spark.onSluice(query);
      assertEquals(1, spark.counter(Counter.WRITE_ROWS_TO_FILES));
      assertEquals(0, spark.counter(Counter.MEMORY_WAITS));
      assertEquals(spark.onStock(query), rows);
    }
    try (RddOnBothEngines spark = RddOnBothEngines.start(small)) {
      spark.assertSame(context -> context.parallelize(List.of(1, 5, 7), 1)
          .mapToPair(id -> new Tuple2<>(id, bytes(id, LARGE))).partitionBy(new HashPartitioner(2))
          .map(record -> record._1() + ":" + describe(record._2())).collect().stream().sorted().toList());
    }
  }
}
