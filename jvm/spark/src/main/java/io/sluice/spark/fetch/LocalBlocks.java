package io.sluice.spark.fetch;

import io.sluice.spark.memory.AddressBuffer;
import io.sluice.spark.metrics.ReadCounts;
import java.io.EOFException;
import java.io.File;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.StandardOpenOption;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.network.buffer.FileSegmentManagedBuffer;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;

/**
 * The blocks on this host's disks, each looked up when its turn comes, and read by position from the committed file, or
 * taken from a copy of it that is nearer. A store that keeps blocks elsewhere (the fallback storage of a decommissioned
 * executor) is read through its stream. Not thread-safe.
 */
public final class LocalBlocks implements BlockInputs {
  private final Iterator<ShuffleBlock> blocks;
  private final LocalBlockStore store;
  private final ShuffleReadMetricsReporter metrics;
  private final ReadCounts counts;
  private final NearerCopies copies;
  private final AddressBuffer target = new AddressBuffer();
  private File file;
  private FileChannel channel;
  private byte[] staging;

  /** @param copies those of this executor's outputs that are read in place of their files */
  public LocalBlocks(List<ShuffleBlock> blocks, LocalBlockStore store, ShuffleReadMetricsReporter metrics,
      ReadCounts counts, NearerCopies copies) {
    this.blocks = blocks.iterator();
    this.store = store;
    this.metrics = metrics;
    this.counts = counts;
    this.copies = copies;
  }

  @Override
  public BlockInput next() throws IOException {
    if (!blocks.hasNext()) {
      return null;
    }
    ShuffleBlock block = blocks.next();
    try {
      return open(block);
    } catch (Exception e) {
      // Scala code throws I/O errors unchecked, and a wrong index gives errors of any kind: as in Spark, all
      // of them mean that the block is not there.
      throw new BlockReadException(block, 0, e, null);
    }
  }

  private BlockInput open(ShuffleBlock block) throws IOException {
    ManagedBuffer data = store.find(block);
    if (data.size() <= 0) {
      throw new EOFException("its index entries give it " + data.size()
          + " bytes, but its map output is registered as not empty");
    }
    metrics.incLocalBlocksFetched(1);
    metrics.incLocalBytesRead(data.size());
    counts.localBlock(data.size());
    BlockInput copy = copies.open(block, data.size(), () -> store.diagnose(block));
    if (copy != null) {
      return copy;
    }
    if (data instanceof FileSegmentManagedBuffer segment) {
      return new FileBlockInput(block, channelOf(segment.getFile()), segment.getOffset(), segment.getLength(),
          target, () -> store.diagnose(block));
    }
    staging = staging == null ? new byte[StreamBlockInput.STAGING_BYTES] : staging;
    return new StreamBlockInput(block, data.createInputStream(), data.size(), staging,
        corruption -> store.diagnose(block), () -> new ReopenedStream(data::createInputStream));
  }

  /** Opens the file, unless it is the last block's too. */
  private FileChannel channelOf(File wanted) throws IOException {
    if (!wanted.equals(file)) {
      close();
      channel = FileChannel.open(wanted.toPath(), StandardOpenOption.READ);
      file = wanted;
    }
    return channel;
  }

  @Override
  public boolean nextHasArrived() {
    return blocks.hasNext();
  }

  @Override
  public void close() throws IOException {
    if (channel != null) {
      FileChannel closed = channel;
      channel = null;
      file = null;
      closed.close();
    }
  }
}
