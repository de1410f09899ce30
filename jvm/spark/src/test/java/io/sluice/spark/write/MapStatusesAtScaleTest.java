package io.sluice.spark.write;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.LocalSpark;
import io.sluice.spark.compat.SparkLine;
import java.util.Arrays;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.SparkEnv;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.util.SizeEstimator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A shuffle of 1,000,000 reducers and 10,000 maps takes as much driver memory as with Spark's own writers. */
@Timeout(180)
class MapStatusesAtScaleTest {
  private static final int REDUCERS = 1_000_000;
  private static final int MAPS = 10_000;
  /** So many are made as tasks make them; the others repeat them. */
  private static final int DISTINCT = 10;
  private static final double STOCKS_BLOCKS_ARE_LARGER = 1.8;

  private LocalSpark spark;

  @BeforeEach
  void start() {
    spark = LocalSpark.start(Map.of());
  }

  @AfterEach
  void stop() {
    spark.close();
  }

  /** Sizes of the blocks of one map output; a tenth of them are empty. */
  private static long[] sizes(int seed, double scale) {
    Random random = new Random(seed);
    return IntStream.range(0, REDUCERS)
        .mapToLong(i -> random.nextInt(10) == 0 ? 0 : (long) (scale * (500 + random.nextInt(1000)))).toArray();
  }

  private static MapStatus ours(int map) {
    // The estimated sizes are reported in Spark's own MapStatus.
    return SparkLine.mapStatus(location(map), sizes(map, STOCKS_BLOCKS_ARE_LARGER), map);
  }

  private static MapStatus stocks(int map) {
    return SparkLine.mapStatus(location(map), sizes(map, STOCKS_BLOCKS_ARE_LARGER), map);
  }

  private static BlockManagerId location(int map) {
    return BlockManagerId.apply("executor-" + map % 100, "host-" + map % 100, 7337, scala.Option.empty());
  }

  @Test
  void mapStatusesTakeAsMuchDriverMemoryAsStocks() {
    MapStatus[] ours = IntStream.range(0, DISTINCT).mapToObj(MapStatusesAtScaleTest::ours).toArray(MapStatus[]::new);
    MapStatus[] stocks =
        IntStream.range(0, DISTINCT).mapToObj(MapStatusesAtScaleTest::stocks).toArray(MapStatus[]::new);
    assertEquals(SizeEstimator.estimate(stocks), SizeEstimator.estimate(ours));

    MapOutputTrackerMaster tracker = (MapOutputTrackerMaster) SparkEnv.get().mapOutputTracker();
    long before = SizeEstimator.estimate(spark.manager());
    tracker.registerShuffle(7001, MAPS, REDUCERS);
    tracker.registerShuffle(7002, MAPS, REDUCERS);
    for (int map = 0; map < MAPS; map++) {
      tracker.registerMapOutput(7001, map, ours[map % DISTINCT]);
      tracker.registerMapOutput(7002, map, stocks[map % DISTINCT]);
    }
    assertEquals(SizeEstimator.estimate(tracker.shuffleStatuses().apply(7002)),
        SizeEstimator.estimate(tracker.shuffleStatuses().apply(7001)));
    long more = SizeEstimator.estimate(spark.manager()) - before;
    assertTrue(more < 1 << 20, () -> "the shuffle manager has grown by " + more + " bytes");
    tracker.unregisterShuffle(7001);
    tracker.unregisterShuffle(7002);
  }
}
