package io.sluice.spark.fetch;

import io.sluice.spark.seal.ApplicationKey;
import io.sluice.spark.seal.SealedBlock;
import java.io.IOException;

/**
 * Opens the blocks of a reduce task whose frames are sealed: knows the application's key, and by the task's plan which
 * partitions of a block have rows. One thread.
 */
public final class SealedBlocks {
  private final ApplicationKey key;
  private final BlockPlan plan;

  public SealedBlocks(ApplicationKey key, BlockPlan plan) {
    this.key = key;
    this.plan = plan;
  }

  /** What the frames of {@code input} must be, which has been opened. */
  public SealedBlock open(BlockInput input) throws IOException {
    ShuffleBlock block = input.block();
    return new SealedBlock(
        key.output(block.shuffleId(), block.mapId()), plan.partitionsWithRows(block), input.positioned());
  }
}
