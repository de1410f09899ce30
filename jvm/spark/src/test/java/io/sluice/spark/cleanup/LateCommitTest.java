package io.sluice.spark.cleanup;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.Await;
import io.sluice.spark.LocalSpark;
import io.sluice.spark.ShuffleFiles;
import io.sluice.spark.metrics.Counter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.apache.spark.HashPartitioner;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import scala.Tuple2;

/** A map task that commits after its shuffle was removed leaves nothing behind. */
@Timeout(120)
class LateCommitTest {
  private static final long WAIT_SECONDS = 60;

  /** Static, because tasks of a local Spark share this class with the test. */
  private static CountDownLatch writing;
  private static CountDownLatch release;

  private LocalSpark spark;

  @AfterEach
  void stop() {
    release.countDown();
    spark.close();
  }

  @ParameterizedTest
  @CsvSource({"MULTITHREADED, false", "CACHE_ONLY, false", "MULTITHREADED, true", "CACHE_ONLY, true"})
  void itsOutputGoesToo(String mode, boolean ofEndedExecution) throws Exception {
    writing = new CountDownLatch(1);
    release = new CountDownLatch(1);
    spark = LocalSpark.start(Map.of("spark.sluice.mode", mode));
    JavaPairRDD<Integer, Integer> shuffled = JavaSparkContext.fromSparkContext(spark.session().sparkContext())
        .parallelize(List.of(1, 2, 3, 4), 2).mapToPair(number -> {
          if (number == 1) {
            writing.countDown();
            assertTrue(release.await(WAIT_SECONDS, TimeUnit.SECONDS));
          }
          return new Tuple2<>(number, -number);
        }).partitionBy(new HashPartitioner(2));
    FutureTask<List<Integer>> job = new FutureTask<>(() -> shuffled.keys().collect());
    new Thread(job, "writing job").start();
    assertTrue(writing.await(WAIT_SECONDS, TimeUnit.SECONDS));
    Await.until("the other task has committed", () -> spark.counter(Counter.WRITE_MAP_OUTPUTS) == 1);

    // The first task, whose id is 0, still writes.
    if (ofEndedExecution) {
      spark.manager().removeOutputs(0, 1);
    } else {
      assertTrue(spark.manager().unregisterShuffle(0));
    }
    assertEquals(List.of(), ShuffleFiles.named("shuffle_"));
    release.countDown();

    List<Integer> keys = new ArrayList<>(job.get(WAIT_SECONDS, TimeUnit.SECONDS));
    keys.sort(null);
    assertEquals(List.of(1, 2, 3, 4), keys);
    assertTrue(spark.counter(Counter.READ_FETCH_FAILURES) > 0, "the outputs that were removed could be read");
    spark.manager().unregisterShuffle(0);
    assertEquals(List.of(), ShuffleFiles.named("shuffle_"));
    spark.manager().executorState().cache().ifPresent(cache -> assertEquals(0, cache.usedBytes()));
  }
}
