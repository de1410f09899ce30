package io.sluice.spark.fetch;

import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.ShuffleBlockBatchId;
import org.apache.spark.storage.ShuffleBlockId;

/**
 * A block to read and all that a fetch failure must say about it.
 *
 * @param id a {@link ShuffleBlockId}, or a {@link ShuffleBlockBatchId} for neighbouring partitions of one map
 * @param address the executor that has the block, as the driver named it: after a fetch failure the scheduler removes
 *     the map output at this address
 * @param mapIndex the map's index in its stage
 */
public record ShuffleBlock(BlockId id, BlockManagerId address, int mapIndex) {

  public int shuffleId() {
    return id instanceof ShuffleBlockBatchId batch ? batch.shuffleId() : ((ShuffleBlockId) id).shuffleId();
  }

  public long mapId() {
    return id instanceof ShuffleBlockBatchId batch ? batch.mapId() : ((ShuffleBlockId) id).mapId();
  }

  /** The partition; of a batch its first, as Spark reports it. */
  public int reduceId() {
    return id instanceof ShuffleBlockBatchId batch ? batch.startReduceId() : ((ShuffleBlockId) id).reduceId();
  }

  /** The partition after the last. */
  public int endReduceId() {
    return id instanceof ShuffleBlockBatchId batch ? batch.endReduceId() : ((ShuffleBlockId) id).reduceId() + 1;
  }
}
