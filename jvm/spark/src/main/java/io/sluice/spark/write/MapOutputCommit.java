package io.sluice.spark.write;

import io.sluice.nativebridge.NativeCore;
import io.sluice.spark.compat.RowBasedChecksums;
import io.sluice.spark.compat.SparkLine;
import io.sluice.spark.conf.BlockSettings;
import java.io.File;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.StandardOpenOption;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.storage.BlockManager;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Turns one task's output into Spark's files: a temporary data file first, then Spark's resolver renames it and
 * writes index and checksums, unless another attempt of the same map id has already done so. Then that attempt's
 * lengths count. One task's thread only.
 */
final class MapOutputCommit {
  private static final Logger LOG = LoggerFactory.getLogger(MapOutputCommit.class);
  private static final long[] NO_CHECKSUMS = {};

  private final IndexShuffleBlockResolver resolver;
  private final BlockManager blockManager;
  private final int shuffleId;
  private final long mapId;
  private final BlockSettings blocks;
  private long[] lengths;
  private File temporary;

  MapOutputCommit(
      IndexShuffleBlockResolver resolver, BlockManager blockManager, int shuffleId, long mapId, BlockSettings blocks) {
    this.resolver = resolver;
    this.blockManager = blockManager;
    this.shuffleId = shuffleId;
    this.mapId = mapId;
    this.blocks = blocks;
  }

  /**
   * Writes and commits everything.
   *
   * @return bytes written to the data file
   */
  long commit(MapOutput output, int partitions) throws IOException {
    long[] blockLengths = new long[partitions];
    if (!output.isOpen()) {
      // As stock does for a map task without records: an index of zeros, no data file, no checksums.
      resolver.writeMetadataFileAndCommit(shuffleId, mapId, blockLengths, NO_CHECKSUMS, null);
      lengths = blockLengths;
      return 0;
    }
    boolean checked = blocks.checksum().orElseThrow() != NativeCore.CHECKSUM_NONE;
    long[] checksums = checked ? new long[partitions] : NO_CHECKSUMS;
    temporary = resolver.createTempFile(resolver.getDataFile(shuffleId, mapId));
    long written = output.commit(temporary, blockLengths, checksums);
    if (blocks.syncWrites()) {
      force(temporary);
    }
    resolver.writeMetadataFileAndCommit(shuffleId, mapId, blockLengths, checksums, temporary);
    temporary = null;
    lengths = blockLengths;
    return written;
  }

  private static void force(File file) throws IOException {
    try (FileChannel channel = FileChannel.open(file.toPath(), StandardOpenOption.WRITE)) {
      channel.force(true);
    }
  }

  /**
   * What the task reports to the driver; after {@link #commit}.
   *
   * @param rowChecksum Spark's checksum of all rows; null when none is wanted
   * @param rowBytes of all rows of the output, before encoding
   */
  MapStatus mapStatus(Long rowChecksum, long rowBytes) {
    long[] sizes = ReportedSizes.of(lengths, rowBytes, blocks.stockSizeFactor());
    return rowChecksum == null
        ? SparkLine.mapStatus(blockManager.shuffleServerId(), sizes, mapId)
        : RowBasedChecksums.mapStatus(blockManager.shuffleServerId(), sizes, mapId, rowChecksum);
  }

  /** Bytes of each partition as committed; null before. */
  long[] lengths() {
    return lengths;
  }

  /** Deletes what an unfinished commit left. */
  void abort() {
    if (temporary != null && temporary.exists() && !temporary.delete()) {
      LOG.warn("Could not delete temporary shuffle file {}", temporary);
    }
  }
}
