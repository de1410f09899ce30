package io.sluice.spark.write;

import io.sluice.nativebridge.NativeCore;
import io.sluice.spark.compat.RowBasedChecksums;
import io.sluice.spark.compat.SparkLine;
import io.sluice.spark.conf.BlockSettings;
import io.sluice.spark.executor.ReportedBytes;
import io.sluice.spark.gpu.ExecutorGpu;
import io.sluice.spark.store.CachedOutput;
import io.sluice.spark.store.OutputCache;
import java.io.File;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.StandardOpenOption;
import java.util.Optional;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.storage.BlockManager;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Turns one task's output into Spark's files: a temporary data file first, then Spark's resolver renames it and
 * writes index and checksums, unless another attempt of the same map id has already done so. Then that attempt's
 * lengths count. With a cache that has room the data file is a link to memory. One task's thread only.
 */
final class MapOutputCommit {
  private static final Logger LOG = LoggerFactory.getLogger(MapOutputCommit.class);
  private static final long[] NO_CHECKSUMS = {};

  private final IndexShuffleBlockResolver resolver;
  private final BlockManager blockManager;
  private final int shuffleId;
  private final long mapId;
  private final BlockSettings blocks;
  /** The largest request that Spark fetches to memory, in bytes. */
  private final long fetchedToMemory;
  private final boolean plainFrames;
  private final Optional<OutputCache> cache;
  private long[] lengths;
  private long estimatedStockBytes;
  private File temporary;
  /** The output in memory, from its reservation until it is committed to the cache; else null. */
  private CachedOutput cached;

  MapOutputCommit(IndexShuffleBlockResolver resolver, BlockManager blockManager, int shuffleId, long mapId,
      BlockSettings blocks, long fetchedToMemory, boolean plainFrames, Optional<OutputCache> cache) {
    this.resolver = resolver;
    this.blockManager = blockManager;
    this.shuffleId = shuffleId;
    this.mapId = mapId;
    this.blocks = blocks;
    this.plainFrames = plainFrames;
    this.fetchedToMemory = fetchedToMemory;
    this.cache = cache;
  }

  /** What writes the data file. */
  @FunctionalInterface
  interface DataWriter {
    /** As {@link MapOutput#commit}. */
    long write(File file, long[] lengths, long[] checksums) throws IOException;
  }

  /** Whether the data file is a link to memory, if there is room. */
  boolean mayBeInMemory() {
    return cache.isPresent();
  }

  /**
   * Writes and commits everything.
   *
   * @param data writes the output's data file; with a cache it is called again when memory fails
   * @return bytes written to the data file
   */
  long commit(MapOutput output, DataWriter data, int partitions) throws IOException {
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
    long written = write(output, data, blockLengths, checksums);
    resolver.writeMetadataFileAndCommit(shuffleId, mapId, blockLengths, checksums, temporary);
    temporary = null;
    if (cached != null && cached.isLinkedFrom(resolver.getDataFile(shuffleId, mapId))
        && cache.orElseThrow().commit(cached, written)) {
      cached = null;
    }
    lengths = blockLengths;
    return written;
  }

  /** Writes the data file to the disk, or, as a link to a memory file, to the cache. */
  private long write(MapOutput output, DataWriter data, long[] blockLengths, long[] checksums) throws IOException {
    cached = cache.isPresent() ? cache.get().reserve(shuffleId, mapId, output.encodedBytes()) : null;
    if (cached != null) {
      try {
        cached.linkFrom(temporary);
        long written = data.write(cached.file(), blockLengths, checksums);
        cached.seal();
        return written;
      } catch (SpillChangedException e) {
        throw e;
      } catch (IOException e) {
        LOG.warn("Map output {} of shuffle {} goes to the disk, because it cannot be written to memory: {}",
            mapId, shuffleId, e.getMessage());
        cache.get().writeFailed(cached);
        cached = null;
        Files.deleteIfExists(temporary.toPath());
      }
    }
    long written = data.write(temporary, blockLengths, checksums);
    if (blocks.syncWrites()) {
      force(temporary);
    }
    return written;
  }

  private static void force(File file) throws IOException {
    try (FileChannel channel = FileChannel.open(file.toPath(), StandardOpenOption.WRITE)) {
      channel.force(true);
    }
  }

  /**
   * The status that the task reports to the driver; after {@link #commit}.
   *
   * @param output what {@link #commit} has written
   * @param rowChecksum Spark's checksum of all rows; null when none is wanted
   * @param stockSizes estimates the sizes of Spark's own blocks; null where no query plan depends on them
   * @param reportedBytes where it is noted how the reported sizes compare with the real ones
   */
  MapStatus mapStatus(
      MapOutput output, Long rowChecksum, StockSizeEstimator stockSizes, ReportedBytes reportedBytes) {
    if (stockSizes == null) {
      return sparkStatus(rowChecksum, lengths);
    }
    long[] sizes = stockSizes.estimate(lengths);
    long realBytes = 0;
    long stockBytes = 0;
    for (int p = 0; p < sizes.length; p++) {
      // A block's size is 0 exactly when the block is empty: Spark does not fetch blocks of size 0.
      sizes[p] = lengths[p] == 0 ? 0 : Math.max(1, sizes[p]);
      estimatedStockBytes += sizes[p];
      if (!output.hasRowInFile(p)) {
        realBytes += lengths[p];
        stockBytes += sizes[p];
      }
    }
    double share = stockBytes == 0 || plainFrames ? blocks.typicalShareOfStock()
        : Math.min(blocks.typicalShareOfStock(), (double) realBytes / stockBytes);
    for (int p = 0; p < sizes.length; p++) {
      sizes[p] = Math.max(sizes[p], leastReported(lengths[p], output.hasRowInFile(p), share));
    }
    reportedBytes.add(shuffleId, realBytes, stockBytes);
    return sparkStatus(rowChecksum, sizes);
  }

  /**
   * A reader takes a block's bytes for its reported size times what Sluice's frames have of stock's bytes. Plain frames
   * have more. One that is larger than what Spark fetches to memory must not seem smaller than that, because it may be
   * longer than any one message. One with a long row is reported as no less than it is: a task then asks for a few of
   * them more at once than it means to, but not for many.
   *
   * @param share of stock's bytes that a reader may take the block for
   */
  private long leastReported(long bytes, boolean hasRowInFile, double share) {
    if ((plainFrames || hasRowInFile) && bytes > fetchedToMemory) {
      return (long) Math.ceil(bytes / share);
    }
    return hasRowInFile ? bytes : 0;
  }

  private MapStatus sparkStatus(Long rowChecksum, long[] sizes) {
    return rowChecksum == null
        ? SparkLine.mapStatus(blockManager.shuffleServerId(), sizes, mapId)
        : RowBasedChecksums.mapStatus(blockManager.shuffleServerId(), sizes, mapId, rowChecksum);
  }

  /** What Spark's own blocks of the same rows would have, by the estimate of {@link #mapStatus}; 0 without one. */
  long estimatedStockBytes() {
    return estimatedStockBytes;
  }

  /**
   * Has a copy made in the GPU's memory, beside the task; after {@link #commit}.
   *
   * @param sealed whether the output's frames are sealed
   */
  void keepOn(ExecutorGpu gpu, boolean sealed) {
    File file = resolver.getDataFile(shuffleId, mapId);
    // Where memory has the output, it is a link.
    gpu.keep(shuffleId, mapId, file, lengths, Files.isSymbolicLink(file.toPath()), sealed);
  }

  /** Bytes of each partition as committed; null before. */
  long[] lengths() {
    return lengths;
  }

  /** Deletes the files of a commit that did not finish, or that came after another attempt's. */
  void abort() {
    if (cached != null) {
      cache.orElseThrow().abandon(cached);
      cached = null;
    }
    if (temporary != null) {
      try {
        // A link to freed memory must be deleted too; File.exists() would say that there is none.
        Files.deleteIfExists(temporary.toPath());
      } catch (IOException e) {
        LOG.warn("Could not delete temporary shuffle file {}", temporary, e);
      }
    }
  }
}
