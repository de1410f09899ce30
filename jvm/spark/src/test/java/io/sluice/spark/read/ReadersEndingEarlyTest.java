package io.sluice.spark.read;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.LocalSpark;
import io.sluice.spark.metrics.Counter;
import java.util.Collections;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.functions;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tasks that end in the middle of a shuffle give everything back, however memory is accounted and rows are decoded. */
@Timeout(180)
class ReadersEndingEarlyTest {
  private static final long WAIT_SECONDS = 60;

  /** Static, because tasks of a local Spark share this class with the test. */
  private static CountDownLatch reading;
  private static CountDownLatch release;

  private LocalSpark spark;

  @BeforeEach
  void freshLatches() {
    reading = new CountDownLatch(1);
    release = new CountDownLatch(1);
  }

  @AfterEach
  void stop() {
    release.countDown();
    spark.close();
  }

  private void start(int readerThreads, boolean offHeap) {
    spark = LocalSpark.start(Map.of(
        "spark.sluice.reader.threads", Integer.toString(readerThreads),
        "spark.memory.offHeap.enabled", Boolean.toString(offHeap),
        "spark.memory.offHeap.size", "256m"));
  }

  private Dataset<Row> shuffled() {
    return spark.session().range(0, 300_000, 1, 3).selectExpr("id", "concat('name_', id % 1000) as name")
        .repartition(2, functions.col("id"));
  }

  private void assertNothingIsHeld() throws InterruptedException {
    await(() -> spark.manager().executorState().memory().budget().usedBytes() == 0, "memory in the budget");
    await(() -> spark.manager().executorState().readAheadBytes().usedBytes() == 0, "bytes in flight");
    await(() -> SparkEnv.get().memoryManager().offHeapExecutionMemoryUsed() == 0, "Spark's off-heap memory");
    assertEquals(0, spark.counter(Counter.MEMORY_LEAKED_BYTES));
  }

  private static void await(BooleanSupplier condition, String what) {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(WAIT_SECONDS);
    while (!condition.getAsBoolean()) {
      assertTrue(System.nanoTime() < deadline, what + " is still held");
      Thread.onSpinWait();
    }
  }

  @ParameterizedTest
  @CsvSource({"0, false", "2, false", "0, true", "2, true"})
  void aKilledReadersMemoryIsFreed(int readerThreads, boolean offHeap) throws Exception {
    start(readerThreads, offHeap);
    JavaRDD<Object> blocked = shuffled().javaRDD().mapPartitions(rows -> {
      rows.next();
      reading.countDown();
      release.await();
      return Collections.emptyIterator();
    });
    AtomicReference<Throwable> failure = new AtomicReference<>();
    Thread job = new Thread(() -> {
      spark.session().sparkContext().setJobGroup("to be killed", "a test", true);
      try {
        blocked.count();
      } catch (Throwable thrown) {
        failure.set(thrown);
      }
    });
    job.start();
    assertTrue(reading.await(WAIT_SECONDS, TimeUnit.SECONDS));
    spark.session().sparkContext().cancelJobGroup("to be killed");
    job.join(TimeUnit.SECONDS.toMillis(WAIT_SECONDS));
    assertNotNull(failure.get(), "the job was not killed");
    assertNothingIsHeld();
    assertEquals(0, spark.counter(Counter.READ_FETCH_FAILURES));
  }

  @ParameterizedTest
  @CsvSource({"0, false", "2, true"})
  void afterAnExceptionOfTheConsumerMemoryIsFreed(int readerThreads, boolean offHeap) throws Exception {
    start(readerThreads, offHeap);
    AtomicReference<Throwable> failure = new AtomicReference<>();
    try {
      shuffled().javaRDD().mapPartitions(rows -> {
        rows.next();
        throw new IllegalStateException("the consumer's own");
      }).count();
    } catch (Exception e) {
      failure.set(e);
    }
    assertTrue(failure.get().getMessage().contains("the consumer's own"));
    assertNothingIsHeld();
  }

  @ParameterizedTest
  @CsvSource({"0, false", "2, true"})
  void afterALimitMemoryIsFreed(int readerThreads, boolean offHeap) throws Exception {
    start(readerThreads, offHeap);
    assertEquals(10, shuffled().limit(10).collectAsList().size());
    assertNothingIsHeld();
    assertEquals(300_000, shuffled().count());
    assertNothingIsHeld();
  }
}
