package io.sluice.spark.read;

import io.sluice.spark.fetch.FetchFailures;
import org.apache.spark.MapOutputTracker;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.storage.BlockManagerId;
import scala.Option;
import scala.Tuple2;
import scala.collection.Iterator;

/**
 * Where the blocks of a shuffle are, by Spark's tracker of map outputs.
 *
 * <p>In local mode readers share the driver's tracker, which answers for a shuffle that it does not know as for one
 * without rows. {@code RDD.cleanShuffleDependencies} makes it forget a shuffle, and so does the message to the
 * executor, which may come after the shuffle has been computed again. Spark's own reader then returns too few rows;
 * here it is a fetch failure, for which Spark computes the outputs again. One task's thread only.
 */
final class MapOutputLocations {
  private final MapOutputTracker tracker;
  private final FetchFailures failures;

  MapOutputLocations(MapOutputTracker tracker, FetchFailures failures) {
    this.tracker = tracker;
    this.failures = failures;
  }

  /** The blocks by executor, as {@code MapOutputTracker.getMapSizesByExecutorId}. */
  Iterator<? extends Tuple2<BlockManagerId, ?>> of(
      int shuffleId, int startMapIndex, int endMapIndex, int startPartition, int endPartition) {
    Option<?> before = status(shuffleId);
    Iterator<? extends Tuple2<BlockManagerId, ?>> blocks =
        tracker.getMapSizesByExecutorId(shuffleId, startMapIndex, endMapIndex, startPartition, endPartition);
    // The same object before and after: it was there in between.
    if (tracker instanceof MapOutputTrackerMaster && isOther(before, status(shuffleId))) {
      throw failures.raiseUnknown(shuffleId, startPartition);
    }
    return blocks;
  }

  private static boolean isOther(Option<?> before, Option<?> after) {
    return before.isEmpty() || after.isEmpty() || before.get() != after.get();
  }

  private Option<?> status(int shuffleId) {
    return tracker instanceof MapOutputTrackerMaster master ? master.shuffleStatuses().get(shuffleId) : Option.empty();
  }
}
