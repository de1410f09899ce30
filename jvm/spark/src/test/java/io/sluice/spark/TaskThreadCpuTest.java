package io.sluice.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.metrics.Counter;
import java.util.Map;
import org.apache.spark.sql.functions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Where no other thread encodes and decodes, the CPU time that it takes is counted as the task threads'. */
@Timeout(180)
class TaskThreadCpuTest {

  @Test
  void ofEncodingDecodingAndCommitting() {
    try (LocalSpark spark = LocalSpark.start(Map.of("spark.sluice.writer.threads", "0",
        "spark.sluice.reader.threads", "0"))) {
      long rows = spark.session().range(0, 400_000, 1, 2)
          .selectExpr("id", "xxhash64(id) as h", "md5(cast(id as string)) as t").repartition(9, functions.col("h"))
          .filter("length(t) = 32").count();
      assertEquals(400_000, rows);
      assertWithin(spark, Counter.WRITE_ENCODE_BY_TASK_CPU_NANOS, Counter.WRITE_ENCODE_NANOS);
      assertWithin(spark, Counter.WRITE_COMMIT_CPU_NANOS, Counter.WRITE_COMMIT_NANOS);
      assertWithin(spark, Counter.READ_DECODE_BY_TASK_CPU_NANOS, Counter.READ_DECODE_NANOS);
    }
  }

  /** A thread is on a core for a part of the time that passes; the clocks are read one after the other. */
  private static void assertWithin(LocalSpark spark, Counter cpu, Counter wall) {
    long cpuNanos = spark.counter(cpu);
    long wallNanos = spark.counter(wall);
    assertTrue(cpuNanos > wallNanos / 1000 && cpuNanos < 2 * wallNanos,
        () -> cpu.id() + " " + cpuNanos + ", " + wall.id() + " " + wallNanos);
  }
}
