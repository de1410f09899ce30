package io.sluice.spark.fetch;

import java.io.IOException;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.storage.BlockManagerId;

/** Where blocks that lie on this host's disks are looked up. Not thread-safe: one per reader. */
public interface LocalBlockStore {
  /** Whether this process can open the blocks of {@code address} itself. */
  boolean reads(BlockManagerId address);

  /** Whether Spark's fetch iterator opens the blocks of {@code address} as files of this host, without its client. */
  boolean sparkOpensFiles(BlockManagerId address);

  /** The block's bytes, not yet opened. Only for an address for which {@link #reads} has returned true. */
  ManagedBuffer find(ShuffleBlock block) throws IOException;

  /** The diagnosis of a corrupt block by the checksum that its writer stored; null if there is none. */
  String diagnose(ShuffleBlock block);
}
