package io.sluice.spark.read;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.LocalSpark;
import io.sluice.spark.metrics.Counter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.apache.spark.HashPartitioner;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import scala.Tuple2;

/**
 * In local mode readers share the driver's tracker of map outputs. When it forgets a shuffle that a task is reading,
 * the task must not take the shuffle for one without rows.
 */
@Timeout(120)
class ForgottenShuffleTest {
  private static final long WAIT_SECONDS = 60;
  private static final List<Integer> NUMBERS = IntStream.range(0, 1000).boxed().toList();

  /** Static, because tasks of a local Spark share this class with the test. */
  private static CountDownLatch reading;
  private static CountDownLatch release;

  private LocalSpark spark;

  @BeforeEach
  void start() {
    reading = new CountDownLatch(1);
    release = new CountDownLatch(1);
    spark = LocalSpark.start(Map.of(LocalSpark.CLEANER, "true"));
  }

  @AfterEach
  void stop() {
    release.countDown();
    spark.close();
  }

  private JavaPairRDD<Integer, Integer> shuffled(int maps) {
    return JavaSparkContext.fromSparkContext(spark.session().sparkContext()).parallelize(NUMBERS, maps)
        .mapToPair(number -> new Tuple2<>(number, -number)).partitionBy(new HashPartitioner(2));
  }

  /** One task that reads the first partition, waits at its first record, and then opens the second partition. */
  private static FutureTask<List<Integer>> readInOneTask(JavaPairRDD<Integer, Integer> shuffled) {
    FutureTask<List<Integer>> job = new FutureTask<>(() -> shuffled.keys().coalesce(1).map(key -> {
      reading.countDown();
      assertTrue(release.await(WAIT_SECONDS, TimeUnit.SECONDS));
      return key;
    }).collect());
    new Thread(job, "reading job").start();
    return job;
  }

  private void assertAllThere(FutureTask<List<Integer>> job) throws Exception {
    List<Integer> read = new ArrayList<>(job.get(WAIT_SECONDS, TimeUnit.SECONDS));
    read.sort(null);
    assertEquals(NUMBERS, read);
    assertTrue(spark.counter(Counter.READ_FETCH_FAILURES) > 0);
  }

  @Test
  void aShuffleThatIsCleanedWhileItIsReadIsComputedAgain() throws Exception {
    JavaPairRDD<Integer, Integer> shuffled = shuffled(1);
    FutureTask<List<Integer>> job = readInOneTask(shuffled);
    assertTrue(reading.await(WAIT_SECONDS, TimeUnit.SECONDS));
    shuffled.rdd().cleanShuffleDependencies(true);
    release.countDown();
    assertAllThere(job);
  }

  /** As the message to the executor does that {@code cleanShuffleDependencies(false)} sends, if it comes late. */
  @Test
  void aShuffleThatWasComputedAgainAndIsThenForgottenIsComputedOnceMore() throws Exception {
    JavaPairRDD<Integer, Integer> shuffled = shuffled(1);
    assertEquals(NUMBERS.size(), shuffled.count());
    shuffled.rdd().cleanShuffleDependencies(true);
    FutureTask<List<Integer>> job = readInOneTask(shuffled);
    assertTrue(reading.await(WAIT_SECONDS, TimeUnit.SECONDS));
    ((MapOutputTrackerMaster) SparkEnv.get().mapOutputTracker()).unregisterShuffle(0);
    release.countDown();
    assertAllThere(job);
  }

  /** The reader knows where the outputs were; the scheduler is told of outputs that the tracker has forgotten. */
  @Test
  void aShuffleThatIsCleanedAfterItsBlocksWereLocatedIsComputedAgain() throws Exception {
    JavaPairRDD<Integer, Integer> first = shuffled(3);
    JavaPairRDD<Integer, Integer> second = shuffled(3);
    FutureTask<List<Integer>> job = new FutureTask<>(() -> first.keys().zipPartitions(second.keys(), (some, others) -> {
      reading.countDown();
      assertTrue(release.await(WAIT_SECONDS, TimeUnit.SECONDS));
      return others;
    }).collect());
    new Thread(job, "reading job").start();
    assertTrue(reading.await(WAIT_SECONDS, TimeUnit.SECONDS));
    second.rdd().cleanShuffleDependencies(true);
    release.countDown();
    assertAllThere(job);
  }
}
