package io.sluice.spark.fetch;

import io.sluice.spark.compat.FetchSettings;
import io.sluice.spark.compat.SparkLine;
import io.sluice.spark.metrics.ReadCounts;
import org.apache.spark.MapOutputTracker;
import org.apache.spark.TaskContext;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.storage.BlockManager;

/**
 * Starts Spark's fetch iterator for the remote blocks of a reader.
 *
 * @param client the client that sends the requests
 * @param metrics the task's
 * @param batch whether neighbouring partitions of one map are fetched as one block
 */
public record RemoteFetch(TaskContext context, BlockManager blockManager, MapOutputTracker tracker,
    ArrivalTrackingClient client, FetchSettings settings, ShuffleReadMetricsReporter metrics, boolean batch) {

  /**
   * Sends the first requests for the remote blocks of {@code plan}.
   *
   * @param allByClient whether Spark's iterator opens none of them as a file of this host
   * @param store where those are looked up that it opens so
   */
  public RemoteBlocks start(BlockPlan plan, boolean allByClient, LocalBlockStore store, ReadCounts counts) {
    FetchedStreams streams = new FetchedStreams(metrics, settings.detectCorruptUseExtraMemory());
    ArrivedBlocks arrived = new ArrivedBlocks();
    var iterator = ArrivalTrackingClient.reading(arrived, () -> SparkLine.fetchIterator(context, client, blockManager,
        tracker, plan.remote(), streams.wrapper(), settings, streams.reporter(), batch));
    return new RemoteBlocks(
        new RemoteBlocks.FetchedBlocks(iterator, streams, arrived, allByClient), context, plan, store, counts);
  }
}
