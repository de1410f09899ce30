package io.sluice.spark.fetch;

import io.sluice.spark.compat.FetchSettings;
import java.io.IOException;
import java.io.InputStream;
import java.util.HashMap;
import java.util.Map;
import java.util.zip.CheckedInputStream;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.shuffle.checksum.Cause;
import org.apache.spark.network.shuffle.checksum.ShuffleChecksumHelper;
import org.apache.spark.storage.BlockManager;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.ShuffleBlockId;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Option;

import org.apache.spark.storage.FallbackStorage$;

/**
 * Spark's block manager as the store of blocks on this host: those of this executor, those in the storage of
 * decommissioned ones, and those of other executors of this host whose directories are known. The directories
 * become known when Spark's fetch iterator has first asked for them; until then such blocks are left to it.
 */
public final class SparkBlockStore implements LocalBlockStore {
  private static final Logger LOG = LoggerFactory.getLogger(SparkBlockStore.class);
  private static final int BUFFER_BYTES = 8192;

  private final BlockManager blocks;
  private final FetchSettings settings;
  /** By executor id, kept for the reader's life: Spark's own cache may forget them. */
  private final Map<String, String[]> neighbourDirectories = new HashMap<>();

  public SparkBlockStore(BlockManager blocks, FetchSettings settings) {
    this.blocks = blocks;
    this.settings = settings;
  }

  @Override
  public boolean reads(BlockManagerId address) {
    return isOwn(address) || isKnownNeighbour(address);
  }

  @Override
  public boolean sparkOpensFiles(BlockManagerId address) {
    return isOwn(address) || isNeighbour(address);
  }

  /** As Spark's fetch iterator decides it. */
  private boolean isOwn(BlockManagerId address) {
    return address.executorId().equals(blocks.blockManagerId().executorId())
        || address.executorId().equals(FallbackStorage$.MODULE$.FALLBACK_BLOCK_MANAGER_ID().executorId());
  }

  private boolean isNeighbour(BlockManagerId address) {
    return blocks.hostLocalDirManager().isDefined() && address.host().equals(blocks.blockManagerId().host());
  }

  private boolean isKnownNeighbour(BlockManagerId address) {
    if (!isNeighbour(address)) {
      return false;
    }
    Option<String[]> directories =
        blocks.hostLocalDirManager().get().getCachedHostLocalDirsFor(address.executorId());
    if (directories.isDefined()) {
      neighbourDirectories.put(address.executorId(), directories.get());
    }
    return directories.isDefined();
  }

  @Override
  public ManagedBuffer find(ShuffleBlock block) {
    return isOwn(block.address())
        ? blocks.getLocalBlockData(block.id())
        : blocks.getHostLocalShuffleData(block.id(), neighbourDirectories.get(block.address().executorId()));
  }

  @Override
  public String diagnose(ShuffleBlock block) {
    if (!settings.checksumEnabled() || !(block.id() instanceof ShuffleBlockId)) {
      return null;
    }
    try {
      return describe(block, cause(block, checksumNow(block)));
    } catch (Exception e) {
      LOG.warn("Cannot diagnose the corruption of block {}", block.id(), e);
      return null;
    }
  }

  /** The same text as Spark's fetch iterator. */
  private String describe(ShuffleBlock block, Cause cause) {
    return "Block " + block.id() + " is corrupted " + switch (cause) {
      case UNSUPPORTED_CHECKSUM_ALGORITHM -> "but corruption diagnosis failed due to unsupported checksum algorithm: "
          + settings.checksumAlgorithm();
      case CHECKSUM_VERIFY_PASS -> "but checksum verification passed";
      case UNKNOWN_ISSUE -> "but the cause is unknown";
      default -> "due to " + cause;
    };
  }

  private Cause cause(ShuffleBlock block, long checksum) {
    BlockManagerId address = block.address();
    String algorithm = settings.checksumAlgorithm();
    return isOwn(address)
        ? blocks.diagnoseShuffleBlockCorruption(block.id(), checksum, algorithm)
        : blocks.blockStoreClient().diagnoseCorruption(address.host(), address.port(), address.executorId(),
            block.shuffleId(), block.mapId(), block.reduceId(), checksum, algorithm);
  }

  private long checksumNow(ShuffleBlock block) throws IOException {
    try (InputStream data = find(block).createInputStream();
        CheckedInputStream checked = new CheckedInputStream(
            data, ShuffleChecksumHelper.getChecksumByAlgorithm(settings.checksumAlgorithm()))) {
      byte[] buffer = new byte[BUFFER_BYTES];
      while (checked.read(buffer) >= 0) {
        // Only the checksum is wanted.
      }
      return checked.getChecksum().getValue();
    }
  }
}
