package io.sluice.spark.write;

import io.sluice.nativebridge.NativeCore;
import io.sluice.nativebridge.NativeException;
import io.sluice.spark.conf.BlockSettings;
import io.sluice.spark.memory.TaskMemory;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import io.sluice.spark.store.SpillFiles;
import java.io.File;
import java.io.IOException;

/**
 * The native side of one map task's output: runs of frames in memory, spilled runs, and the data file in the end.
 *
 * <p>{@link #encode} may be called from several threads at once; everything else, and the account of the runs'
 * memory, belongs to the task's thread.
 */
final class NativeMapOutput implements AutoCloseable {
  private static final long NOT_OPEN = -1;

  private final int partitions;
  private final BlockSettings blocks;
  private final TaskMemory memory;
  private final SpillFiles spills;
  private final boolean rowChecksums;
  private final Counters counters;
  private long handle = NOT_OPEN;
  private long runQuotaBytes;
  private long spilledBytes;

  /** @param rowChecksums whether {@link #rowChecksum} will be asked for */
  NativeMapOutput(int partitions, BlockSettings blocks, TaskMemory memory, SpillFiles spills,
      boolean rowChecksums, Counters counters) {
    this.partitions = partitions;
    this.blocks = blocks;
    this.memory = memory;
    this.spills = spills;
    this.rowChecksums = rowChecksums;
    this.counters = counters;
  }

  /** Opens the native writer; before the first {@link #encode}. */
  void open() {
    if (!isOpen()) {
      handle = NativeException.check(
          NativeCore.writerOpen(partitions, blocks.codec().orElseThrow(), blocks.level(), rowChecksums));
    }
  }

  boolean isOpen() {
    return handle != NOT_OPEN;
  }

  /**
   * Encodes a batch to a run.
   *
   * @param sequence the run's place among the task's runs
   * @return bytes that the run holds
   * @throws NativeException with {@link NativeCore#NO_MEMORY} when the arena is at its limit; nothing was added
   */
  long encode(PageBatch batch, long sequence) {
    long start = System.nanoTime();
    try {
      return NativeException.check(NativeCore.writerEncode(handle, sequence, batch.fields(), batch.describe()));
    } finally {
      counters.add(Counter.WRITE_ENCODE_NANOS, System.nanoTime() - start);
    }
  }

  /** Spark's checksum of all rows encoded so far; 0 for none. */
  long rowChecksum() {
    if (!isOpen()) {
      return 0;
    }
    long[] checksum = new long[1];
    NativeException.check(NativeCore.writerRowChecksum(handle, checksum));
    return checksum[0];
  }

  /** Frees the pages of a batch that was encoded to {@code runBytes}. */
  void settle(PageBatch batch, long runBytes) {
    runQuotaBytes += batch.settle(memory, runBytes);
  }

  /** Bytes of quota that the runs in memory hold. */
  long runBytes() {
    return runQuotaBytes;
  }

  /** At least as many bytes as {@link #commit} will write. No encode may be running. */
  long encodedBytes() {
    return NativeException.check(NativeCore.writerMemoryBytes(handle)) + spilledBytes;
  }

  /**
   * Moves all runs in memory to a file. No encode may be running.
   *
   * @return bytes written; 0 when there was nothing to move
   */
  long spill() throws IOException {
    if (!isOpen() || NativeCore.writerMemoryBytes(handle) <= 0) {
      return 0;
    }
    long written = spills.write(file -> NativeException.check(NativeCore.writerSpill(handle, file.getPath())));
    memory.unreserve(runQuotaBytes);
    runQuotaBytes = 0;
    spilledBytes += written;
    return written;
  }

  /**
   * Writes the data file, partition by partition.
   *
   * @param lengths filled with each partition's bytes
   * @param checksums filled with each partition's checksum; empty when there are none
   * @return total bytes
   * @throws IOException when the file cannot be written; Spark decides by the file's name in which local
   *     directory it must lie, so another directory would not help
   */
  long commit(File file, long[] lengths, long[] checksums) throws IOException {
    long total = NativeCore.writerCommit(handle, file.getPath(), blocks.checksum().orElseThrow(), lengths,
        checksums.length == 0 ? null : checksums);
    if (total == NativeCore.IO || total == NativeCore.DISK_FULL) {
      throw new IOException("writing the map output to " + file + " failed: " + NativeCore.lastErrorMessage());
    }
    NativeException.check(total);
    memory.unreserve(runQuotaBytes);
    runQuotaBytes = 0;
    return total;
  }

  /** Frees the runs and deletes the spill files. Encodes that still run fail or finish. */
  @Override
  public void close() {
    if (isOpen()) {
      NativeCore.writerClose(handle);
      memory.unreserve(runQuotaBytes);
      runQuotaBytes = 0;
    }
    spills.deleteAll();
  }
}
