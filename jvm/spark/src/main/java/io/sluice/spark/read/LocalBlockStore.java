package io.sluice.spark.read;

import io.sluice.spark.compat.FetchSettings;
import java.io.IOException;
import java.io.InputStream;
import java.util.zip.CheckedInputStream;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.shuffle.checksum.Cause;
import org.apache.spark.network.shuffle.checksum.ShuffleChecksumHelper;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManager;
import org.apache.spark.storage.ShuffleBlockId;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Where this executor's own blocks are looked up. */
interface LocalBlockStore {
  /** The block's bytes, not yet opened. */
  ManagedBuffer find(BlockId id) throws IOException;

  /** What the checksum stored by the writer says about a corrupt block; null when it says nothing. */
  String diagnose(BlockId id);

  /** Spark's block manager. */
  static LocalBlockStore of(BlockManager blocks, FetchSettings settings) {
    return new SparkStore(blocks, settings);
  }

  /** The implementation over Spark. */
  record SparkStore(BlockManager blocks, FetchSettings settings) implements LocalBlockStore {
    private static final Logger LOG = LoggerFactory.getLogger(LocalBlockStore.class);
    private static final int BUFFER_BYTES = 8192;

    @Override
    public ManagedBuffer find(BlockId id) {
      return blocks.getLocalBlockData(id);
    }

    @Override
    public String diagnose(BlockId id) {
      if (!settings.checksumEnabled() || !(id instanceof ShuffleBlockId)) {
        return null;
      }
      try {
        String algorithm = settings.checksumAlgorithm();
        Cause cause = blocks.diagnoseShuffleBlockCorruption(id, checksumNow(id, algorithm), algorithm);
        return "Its checksum file says: " + cause;
      } catch (Exception e) {
        LOG.warn("Cannot diagnose the corruption of block {}", id, e);
        return null;
      }
    }

    private long checksumNow(BlockId id, String algorithm) throws IOException {
      try (InputStream data = find(id).createInputStream();
          CheckedInputStream checked =
              new CheckedInputStream(data, ShuffleChecksumHelper.getChecksumByAlgorithm(algorithm))) {
        byte[] buffer = new byte[BUFFER_BYTES];
        while (checked.read(buffer) >= 0) {
          // Only the checksum is wanted.
        }
        return checked.getChecksum().getValue();
      }
    }
  }
}
