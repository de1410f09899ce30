package io.sluice.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.UserSerializer.Point;
import io.sluice.spark.metrics.Counter;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.spark.HashPartitioner;
import org.apache.spark.api.java.JavaPairRDD;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import scala.Tuple2;

/** Tasks that write or read records of an RDD and end before their shuffle does give everything back. */
@Timeout(180)
class RecordReadersEndingEarlyTest {
  private static final int COUNT = 200_000;
  private static final long WAIT_SECONDS = 60;

  private static RddOnBothEngines spark;
  /** Static, because tasks of a local Spark share this class with the test. */
  private static CountDownLatch reached;
  private static CountDownLatch release;

  private final ExecutorService background = Executors.newSingleThreadExecutor();

  /** The operation of a shuffle on its records. */
  private enum Kind {
    MOVED, SORTED_AS_ROWS, SORTED_AS_OBJECTS, SERIALIZED, GROUPED;

    JavaPairRDD<?, ?> of(JavaPairRDD<Integer, Integer> records) {
      return switch (this) {
        case MOVED -> records.partitionBy(new HashPartitioner(3));
        case SORTED_AS_ROWS -> records.repartitionAndSortWithinPartitions(new HashPartitioner(3));
        case SORTED_AS_OBJECTS -> records.mapToPair(record -> new Tuple2<>(record._1() * 0.5, record._2()))
            .repartitionAndSortWithinPartitions(new HashPartitioner(3));
        case SERIALIZED -> records.mapToPair(record -> new Tuple2<>(new Point(record._1(), 0), record._2()))
            .partitionBy(new HashPartitioner(3));
        case GROUPED -> records.mapToPair(record -> new Tuple2<>(record._1() % 1000, record._2())).groupByKey(3);
      };
    }
  }

  @BeforeAll
  static void start() {
    spark = RddOnBothEngines.start(Map.of());
  }

  @AfterAll
  static void stop() {
    spark.close();
  }

  @BeforeEach
  void freshLatches() {
    reached = new CountDownLatch(1);
    release = new CountDownLatch(1);
  }

  @AfterEach
  void endThread() {
    release.countDown();
    background.shutdownNow();
  }

  private static JavaPairRDD<Integer, Integer> records() {
    return spark.numbers(COUNT).mapToPair(n -> new Tuple2<>(n, -n));
  }

  private static void pause() throws InterruptedException {
    reached.countDown();
    release.await();
  }

  @VariantsInAll(oneOf = 2)
  @ParameterizedTest
  @EnumSource(Kind.class)
  void tasksKilledWhileReadingFreeTheirMemory(Kind kind) throws Exception {
    assertCleanAfterCancel(kind.of(records()).mapPartitions(records -> {
      records.next();
      pause();
      return Collections.singleton(records.next()).iterator();
    })::count);
  }

  @VariantsInAll(oneOf = 2)
  @ParameterizedTest
  @EnumSource(Kind.class)
  void tasksKilledWhileWritingFreeTheirMemory(Kind kind) throws Exception {
    assertCleanAfterCancel(kind.of(records().filter(record -> {
      if (record._1() == COUNT / 2 + 30_000) {
        pause();
      }
      return true;
    }))::count);
  }

  private void assertCleanAfterCancel(Runnable job) throws Exception {
    Future<?> doomed = background.submit(() -> {
      spark.context().setJobGroup("to be killed", "a test", true);
      job.run();
    });
    assertTrue(reached.await(WAIT_SECONDS, TimeUnit.SECONDS));
    spark.context().cancelJobGroup("to be killed");
    ExecutionException failure =
        assertThrows(ExecutionException.class, () -> doomed.get(WAIT_SECONDS, TimeUnit.SECONDS));
    assertTrue(failure.getMessage().contains("cancelled"), failure::getMessage);
    spark.assertNothingIsHeld();
    assertEquals(0, spark.counter(Counter.READ_FETCH_FAILURES));
    long count = spark.onSluice(context -> Kind.MOVED.of(records()).count());
    assertEquals(COUNT, count);
  }

  @VariantsInAll(oneOf = 2)
  @ParameterizedTest
  @EnumSource(Kind.class)
  void takeOfAFewRecordsFreesTheReadersMemory(Kind kind) {
    Tuple2<?, ?> first = spark.<Tuple2<?, ?>>onSluice(context -> kind.of(records()).first());
    assertEquals(first, spark.<List<?>>onSluice(context -> kind.of(records()).take(1)).get(0));
    assertEquals(5, spark.<List<?>>onSluice(context -> kind.of(records()).take(5)).size());
  }

  /** Of a sorted shuffle they are the same on stock. */
  @InAll
  @Test
  void takeOfSortedRecordsFreesTheSortersMemory() {
    spark.assertSame(context -> RddOnBothEngines.sorted(records().sortByKey(false, 4).take(3)));
    spark.assertSame(context -> List.of(records().sortByKey(true, 4).first().toString()));
    spark.assertSame(context -> RddOnBothEngines.sorted(Kind.SORTED_AS_OBJECTS.of(records()).take(3)));
  }
}
