package io.sluice.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.metrics.Counter;
import io.sluice.spark.store.OutputCache;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.HashPartitioner;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import scala.Tuple2;

/** The limit of map outputs in memory, changed while an iterative job runs. */
@Timeout(120)
class SluiceCacheTest {
  private static final int KEYS = 20_000;
  private LocalSpark spark;

  @AfterEach
  void stop() {
    if (spark != null) {
      spark.close();
    }
  }

  private OutputCache cache() {
    return spark.manager().executorState().cache().orElseThrow();
  }

  private JavaPairRDD<Integer, Long> links() {
    JavaSparkContext context = JavaSparkContext.fromSparkContext(spark.session().sparkContext());
    List<Tuple2<Integer, Long>> pairs = new ArrayList<>();
    for (int key = 0; key < KEYS; key++) {
      pairs.add(new Tuple2<>(key, key * 0x9E3779B97F4A7C15L));
    }
    return context.parallelizePairs(pairs, 4).partitionBy(new HashPartitioner(4));
  }

  /** As an iteration of PageRank: reads the links' shuffle again, and makes one that is read once. */
  private static long iterate(JavaPairRDD<Integer, Long> links, int round) {
    return links.mapToPair(link -> new Tuple2<>((link._1() * 7 + round) % KEYS, link._2() + round))
        .reduceByKey(Long::sum, 4).values().fold(0L, Long::sum);
  }

  private static long expected(int round) {
    long sum = 0;
    for (int key = 0; key < KEYS; key++) {
      sum += key * 0x9E3779B97F4A7C15L + round;
    }
    return sum;
  }

  @Test
  void theLimitGoesDownAndUpWhileAJobReads() {
    spark = LocalSpark.start(Map.of("spark.sluice.mode", "CACHE_ONLY"));
    assertEquals(1L << 30, SluiceCache.hostLimit());
    JavaPairRDD<Integer, Long> links = links();
    assertEquals(expected(0), iterate(links, 0));
    assertTrue(cache().usedBytes() > 40_000, () -> "in memory: " + cache().usedBytes());
    SluiceCache.setHostLimit("1m");
    assertEquals(1L << 20, SluiceCache.hostLimit());
    assertEquals(1L << 20, cache().limitBytes());
    cache().setLimitBytes(5_000);
    Await.until("outputs have moved", () -> cache().usedBytes() == 0);
    long moves = spark.counter(Counter.CACHE_MOVES);
    assertTrue(moves >= 4, () -> "moved: " + moves);
    assertEquals(expected(1), iterate(links, 1));
    assertEquals(expected(2), iterate(links, 2));
    SluiceCache.setHostLimit("512m");
    for (int round = 3; round < 7; round++) {
      assertEquals(expected(round), iterate(links, round));
    }
    Await.until("the links are back", () -> spark.counter(Counter.CACHE_RETURNS) >= 4);
    assertEquals(expected(7), iterate(links, 7));
    assertEquals(0, spark.counter(Counter.CACHE_MOVE_FAILURES) + spark.counter(Counter.CACHE_RETURN_FAILURES));
  }

  @Test
  void aLimitThatIsNoSizeOrOutOfRangeIsRefused() {
    spark = LocalSpark.start(Map.of("spark.sluice.mode", "CACHE_ONLY"));
    for (String wrong : List.of("many", "-1", "1", "17t", "")) {
      assertTrue(assertThrows(SluiceException.class, () -> SluiceCache.setHostLimit(wrong)).getMessage()
          .contains("spark.sluice.cache.hostLimit"), wrong);
    }
    assertEquals(1L << 30, SluiceCache.hostLimit());
  }

  @Test
  void withoutAnApplicationThereIsNoLimit() {
    assertThrows(SluiceException.class, () -> SluiceCache.setHostLimit("1g"));
  }
}
