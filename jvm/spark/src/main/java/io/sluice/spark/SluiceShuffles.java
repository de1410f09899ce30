package io.sluice.spark;

import io.sluice.spark.cleanup.PlanShuffles;
import io.sluice.spark.compat.PlanNodes;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.ShuffleStatus;
import org.apache.spark.SparkEnv;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.sql.Dataset;
import scala.Option;

/**
 * The shuffles of a {@code Dataset}, for programs that know when they have done with one. Those of an RDD are removed
 * by Spark's {@code RDD.cleanShuffleDependencies}. Called on the driver; from Python by {@code
 * spark._jvm.io.sluice.spark.SluiceShuffles}.
 */
public final class SluiceShuffles {
  private SluiceShuffles() {}

  /**
   * Removes the map outputs of the plan that {@code data} keeps, in files and in memory: those that {@code collect},
   * {@code toPandas} and {@code toLocalIterator} have made, and which {@code spark.sluice.sql.cleanup=unreferenced}
   * leaves, because the plan can run again. ({@code count}, {@code show}, {@code take}, writes and {@code rdd} run
   * plans of their own; their shuffles that setting removes by itself.) Executors learn it within ten seconds. The
   * plan stays: an action that comes later computes again what it needs. One that runs meanwhile may find outputs
   * gone, and computes them again as after the loss of an executor. What cached tables were made from stays, and so
   * do outputs of attempts that another attempt has overtaken, until Spark's cleaner removes them.
   *
   * @return how many shuffles had outputs
   * @throws SluiceException when shuffles of this application are not Sluice's, or it has started without {@code
   *     spark.plugins}, so that executors do not ask what is removed, or with {@code spark.shuffle.useOldFetchProtocol}
   */
  public static int remove(Dataset<?> data) {
    SparkEnv env = SparkEnv.get();
    if (env == null || !(env.shuffleManager() instanceof SluiceShuffleManager manager)) {
      throw SluiceCache.noManager();
    }
    manager.checkShufflesCanBeRemoved();
    MapOutputTrackerMaster tracker = (MapOutputTrackerMaster) env.mapOutputTracker();
    int removed = 0;
    for (int shuffleId : PlanShuffles.of(PlanNodes.executedPlan(data))) {
      long lastMapId = lastMapId(tracker, shuffleId);
      if (lastMapId >= 0) {
        manager.removeSqlShuffle(shuffleId, lastMapId);
        removed++;
      }
    }
    return removed;
  }

  /** The highest id of the map tasks whose outputs are known; -1 for none. Ids grow, so later outputs have others. */
  private static long lastMapId(MapOutputTrackerMaster tracker, int shuffleId) {
    Option<ShuffleStatus> status = tracker.shuffleStatuses().get(shuffleId);
    long last = -1;
    if (status.isDefined()) {
      for (MapStatus output : status.get().mapStatuses()) {
        last = output == null ? last : Math.max(last, output.mapId());
      }
    }
    return last;
  }
}
