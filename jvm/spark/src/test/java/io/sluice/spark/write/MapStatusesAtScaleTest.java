package io.sluice.spark.write;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.sluice.spark.LocalSpark;
import io.sluice.spark.metrics.Counter;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.SparkEnv;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.util.SizeEstimator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import scala.jdk.javaapi.CollectionConverters;

/** What the driver keeps of shuffles is as large as with Spark's own writers. */
@Timeout(180)
class MapStatusesAtScaleTest {
  private static final int MAPS = 3;

  private LocalSpark spark;

  @BeforeEach
  void start() {
    // Adaptive execution reads many small blocks in few tasks.
    spark = LocalSpark.start(Map.of("spark.sql.adaptive.enabled", "true"));
  }

  @AfterEach
  void stop() {
    spark.close();
  }

  /** Of the newest shuffle. */
  private static List<MapStatus> mapStatuses() {
    MapOutputTrackerMaster tracker = (MapOutputTrackerMaster) SparkEnv.get().mapOutputTracker();
    var all = CollectionConverters.asJava(tracker.shuffleStatuses());
    int newest = Collections.max(all.keySet().stream().map(Integer.class::cast).toList());
    return Arrays.asList(tracker.shuffleStatuses().apply(newest).mapStatuses());
  }

  private List<MapStatus> mapStatuses(int partitions, boolean sluice) {
    long before = spark.counter(Counter.SHUFFLES_ROWS);
    spark.session().conf().set("spark.sluice.enabled", String.valueOf(sluice));
    spark.session().conf().set("spark.sql.shuffle.partitions", String.valueOf(partitions));
    spark.session().range(0, 5_000, 1, MAPS).repartition(col("id")).queryExecution().toRdd().count();
    assertEquals(sluice ? 1 : 0, spark.counter(Counter.SHUFFLES_ROWS) - before);
    return mapStatuses();
  }

  /** Beyond 2,000 partitions Spark keeps the mean size of blocks, and which are empty. */
  @ParameterizedTest
  @ValueSource(ints = {7, 2_000, 2_001, 50_000})
  void mapStatusesTakeAsMuchDriverMemoryAsStocks(int partitions) {
    List<MapStatus> stocks = mapStatuses(partitions, false);
    List<MapStatus> ours = mapStatuses(partitions, true);
    assertEquals(MAPS, ours.size());
    assertEquals(stocks.get(0).getClass(), ours.get(0).getClass());
    assertEquals(SizeEstimator.estimate(stocks.toArray()), SizeEstimator.estimate(ours.toArray()));
  }
}
