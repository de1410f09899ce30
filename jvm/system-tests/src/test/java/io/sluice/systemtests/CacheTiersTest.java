package io.sluice.systemtests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.sluice.spark.SluiceCache;
import io.sluice.spark.metrics.Counter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.HashPartitioner;
import org.apache.spark.api.java.JavaPairRDD;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import scala.Tuple2;

/**
 * PageRank with retained shuffles and map outputs in memory: when the limit is lowered while it runs, outputs move to
 * the disk; when it is raised, the links, which every iteration reads, come back. Each iteration's ranks are stock's.
 */
@Tag("once")
@Timeout(180)
class CacheTiersTest {
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final int PAGES = 30_000;
  private static final int LINKS = 4;
  private static final int PARTITIONS = 4;
  private static final int ITERATIONS = 3;
  /** Multiplied, the pages that a page links to lie anywhere. */
  private static final int SCATTER = 7919;

  @BeforeAll
  static void onlyWhereFramesAreWritten() {
    assumeTrue(Engine.writesFrames());
  }

  private static JavaPairRDD<Integer, Iterable<Integer>> links(SparkApplication application) {
    List<Integer> pages = new ArrayList<>();
    for (int page = 0; page < PAGES; page++) {
      pages.add(page);
    }
    return application.context().parallelize(pages, PARTITIONS).flatMapToPair(page -> {
      List<Tuple2<Integer, Integer>> targets = new ArrayList<>();
      for (int link = 1; link <= LINKS; link++) {
        targets.add(new Tuple2<>(page, Math.floorMod(page * SCATTER + link * link, PAGES)));
      }
      return targets.iterator();
    }).groupByKey(new HashPartitioner(PARTITIONS));
  }

  /** In whole numbers, so that the order in which ranks are added makes no difference. */
  private static JavaPairRDD<Integer, Long> next(JavaPairRDD<Integer, Iterable<Integer>> links,
      JavaPairRDD<Integer, Long> ranks) {
    return links.join(ranks, new HashPartitioner(PARTITIONS)).values().flatMapToPair(linksAndRank -> {
      List<Tuple2<Integer, Long>> shares = new ArrayList<>();
      for (int target : linksAndRank._1()) {
        shares.add(new Tuple2<>(target, linksAndRank._2() / LINKS));
      }
      return shares.iterator();
    }).reduceByKey(new HashPartitioner(PARTITIONS), Long::sum);
  }

  private static long fingerprint(JavaPairRDD<Integer, Long> ranks) {
    return ranks.map(rank -> (rank._1() + 1) * 0x9E3779B97F4A7C15L * (rank._2() + 3)).fold(0L, Long::sum);
  }

  /** Runs some iterations, each as a job of its own, and returns what each has come to. */
  private static List<Long> iterate(JavaPairRDD<Integer, Iterable<Integer>> links) {
    List<Long> results = new ArrayList<>();
    JavaPairRDD<Integer, Long> ranks = links.mapValues(targets -> 1_000_000L);
    for (int i = 0; i < ITERATIONS; i++) {
      ranks = next(links, ranks);
      results.add(fingerprint(ranks));
    }
    return results;
  }

  private static long counted(SparkApplication application, Counter counter) {
    return ProcessCounters.ofExecutors(application.context()).get(counter);
  }

  @Test
  void theLinksComeBackWhenTheLimitIsRaised() {
    List<Long> expected;
    try (SparkApplication stock = SparkApplication.on(Engine.STOCK).start()) {
      expected = iterate(links(stock));
    }
    try (SparkApplication application = SparkApplication.on(Engine.UNDER_TEST).master(SparkApplication.CLUSTER)
        .setAll(Map.of("spark.sluice.store", "cache", "spark.sluice.cache.hostLimit", "64m",
            "spark.sluice.codec.level", "plain"))
        .start()
        .awaitExecutors(2)) {
      JavaPairRDD<Integer, Iterable<Integer>> links = links(application);
      assertEquals(expected, iterate(links));
      assertTrue(counted(application, Counter.CACHE_OUTPUTS) > PARTITIONS, "nothing is in memory");
      assertEquals(0, counted(application, Counter.CACHE_MOVES));
      SluiceCache.setHostLimit("1m");
      Await.until(LIMIT, () -> "nothing has moved: " + ProcessCounters.byExecutor(application.context()), () -> {
        assertEquals(expected, iterate(links));
        return counted(application, Counter.CACHE_MOVES) >= PARTITIONS;
      });
      SluiceCache.setHostLimit("256m");
      Await.until(LIMIT, () -> "nothing came back: " + ProcessCounters.byExecutor(application.context()), () -> {
        assertEquals(expected, iterate(links));
        return counted(application, Counter.CACHE_RETURNS) > 0;
      });
      assertEquals(expected, iterate(links));
      assertEquals(0, counted(application, Counter.CACHE_MOVE_FAILURES));
      assertEquals(0, counted(application, Counter.CACHE_RETURN_FAILURES));
      assertEquals(0, application.events().retriedStages());
    }
  }
}
