package io.sluice.spark.write;

import io.sluice.nativebridge.NativeCore;
import io.sluice.nativebridge.NativeException;
import io.sluice.spark.codec.RowFile;
import io.sluice.spark.codec.RowHashes;
import io.sluice.spark.conf.BlockSettings;
import io.sluice.spark.memory.TaskMemory;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import io.sluice.spark.metrics.ThreadCpuClock;
import io.sluice.spark.seal.EndMark;
import io.sluice.spark.seal.FrameSealer;
import io.sluice.spark.seal.OutputKeys;
import io.sluice.spark.store.SpillFiles;
import java.io.File;
import java.io.IOException;
import java.util.BitSet;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One map task's output: its {@link Runs}, the account of their memory, and the files that they are spilled to.
 *
 * <p>{@link #encode} may be called from several threads at once; everything else belongs to the task's thread.
 */
final class MapOutput implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(MapOutput.class);

  /** As a bound of {@link #encode}. */
  static final int ALL_PARTITIONS = Integer.MAX_VALUE;

  private final Supplier<Runs> newRuns;
  /** Of rows in files; null when frames are not sealed. */
  private final FrameSealer sealer;
  private final int partitions;
  private final boolean rowChecksums;
  private final BlockSettings blocks;
  private final TaskMemory memory;
  private final SpillFiles spills;
  private final Counters counters;
  /** Null before {@link #open}. */
  private Runs runs;
  /** Null before {@link #open}, and where there is none. */
  private PartCommit parts;
  private long runQuotaBytes;
  private long spilledBytes;
  /** What {@link #writeRow} writes to; null before the first row. */
  private File rowFile;
  private long rowFileBytes;
  /** Of the last row; null when frames are not sealed. */
  private byte[] rowSeal;
  private final BitSet partitionsWithRowsInFiles = new BitSet();
  private final LongAdder encodeNanos = new LongAdder();
  private long encodeByTaskCpuNanos;

  /**
   * @param rowChecksums whether the runs keep Spark's checksum of all rows
   * @param keys of the map output; null when frames are not sealed
   */
  MapOutput(Supplier<Runs> newRuns, int partitions, boolean rowChecksums, OutputKeys keys, BlockSettings blocks,
      TaskMemory memory, SpillFiles spills, Counters counters) {
    this.partitions = partitions;
    this.sealer = keys == null ? null : new FrameSealer(keys);
    this.newRuns = newRuns;
    this.rowChecksums = rowChecksums;
    this.blocks = blocks;
    this.memory = memory;
    this.spills = spills;
    this.counters = counters;
  }

  /** Before the first {@link #encode}. */
  void open() {
    if (!isOpen()) {
      runs = newRuns.get();
      parts = runs.partCommit();
    }
  }

  boolean isOpen() {
    return runs != null;
  }

  int partitions() {
    return partitions;
  }

  /** As {@link Runs#encodeNeeds}, on an output that this opens if need be. */
  long encodeNeeds(long rowBytes, long rows, long largeRowBytes, int fields) {
    open();
    return runs.encodeNeeds(rowBytes, rows, largeRowBytes, fields);
  }

  /**
   * Encodes a batch, or its rows of the partitions before {@code until}, to a run.
   *
   * @param sequence the run's place among the task's runs
   * @param until {@link #ALL_PARTITIONS} for the whole batch
   * @return bytes that the batch's runs hold; 0 where not all partitions are encoded
   * @throws io.sluice.nativebridge.NativeException with {@link NativeCore#NO_MEMORY} when the arena is at its limit;
   *     {@link #spill} makes room, and a repeated call goes on where this one stopped
   */
  long encode(PageBatch batch, long sequence, int until) {
    return timed(() -> {
      if (until == ALL_PARTITIONS) {
        return runs.encode(sequence, batch.fields(), batch.describe());
      }
      parts.encodeUntil(sequence, batch.fields(), batch.describe(), until);
      return 0;
    });
  }

  /** As {@link #encode} of a whole batch, as {@link Runs#encodeOnGpu} does it. */
  long encodeOnGpu(PageBatch batch, long sequence) {
    return timed(() -> runs.encodeOnGpu(sequence, batch.fields(), batch.describe()));
  }

  /** Whether a call of {@link #encodeOnGpu} waits for the GPU; one that the GPU has declined does not. */
  boolean isWaitingForGpu() {
    return runs.waitingForGpu() > 0;
  }

  /** Whether the GPU has encoded batches of it; false for an output without rows. */
  boolean hasBatchesByGpu() {
    return isOpen() && runs.batchesByGpu() > 0;
  }

  private long timed(LongSupplier encode) {
    long start = System.nanoTime();
    try {
      return encode.getAsLong();
    } catch (NativeException e) {
      if (e.reason() == NativeCore.NO_MEMORY) {
        counters.increment(Counter.WRITE_ENCODES_REFUSED);
      }
      throw e;
    } finally {
      long nanos = System.nanoTime() - start;
      encodeNanos.add(nanos);
      counters.add(Counter.WRITE_ENCODE_NANOS, nanos);
    }
  }

  /** As {@link #encode}, by the task's thread, whose CPU time is counted. */
  long encodeByTask(PageBatch batch, long sequence, int until) {
    long start = ThreadCpuClock.nanos();
    try {
      return encode(batch, sequence, until);
    } finally {
      long nanos = ThreadCpuClock.nanos() - start;
      encodeByTaskCpuNanos += nanos;
      counters.add(Counter.WRITE_ENCODE_BY_TASK_CPU_NANOS, nanos);
    }
  }

  /**
   * Writes a row to a file, as a plain frame, without any memory outside the heap.
   *
   * @param sequence the place of this run of one row among the task's runs
   * @param base object that holds the row, or null when {@code offset} is an address
   * @return bytes written
   */
  long writeRow(long sequence, int partition, int fields, Object base, long offset, int rowBytes) throws IOException {
    open();
    long frameBytes = RowFile.frameBytes(rowBytes, sealer != null);
    if (rowFile == null || !append(partition, fields, base, offset, rowBytes)) {
      spills.write(file -> {
        rowSeal = RowFile.write(file, 0, partition, fields, base, offset, rowBytes, sealer);
        rowFile = file;
        rowFileBytes = 0;
        return frameBytes;
      });
    }
    long hash = rowChecksums ? RowHashes.ofRow(base, offset, rowBytes) : 0;
    runs.addRow(sequence, partition, rowFile, rowFileBytes, frameBytes, hash, rowSeal);
    rowFileBytes += frameBytes;
    spilledBytes += frameBytes;
    partitionsWithRowsInFiles.set(partition);
    return frameBytes;
  }

  /** Writes a row behind those in the file of rows; false if its directory takes no more, and a new file is needed. */
  private boolean append(int partition, int fields, Object base, long offset, int rowBytes) {
    try {
      rowSeal = RowFile.write(rowFile, rowFileBytes, partition, fields, base, offset, rowBytes, sealer);
      return true;
    } catch (IOException e) {
      counters.increment(Counter.WRITE_DIRECTORY_RETRIES);
      LOG.warn("Writing a row of {} bytes to spill file {} failed, trying a new file: {}", rowBytes, rowFile,
          e.getMessage());
      return false;
    }
  }

  /**
   * Whether {@code partition} has a row that was written by {@link #writeRow}: its block may be longer than stock's.
   */
  boolean hasRowInFile(int partition) {
    return partitionsWithRowsInFiles.get(partition);
  }

  /** Spark's checksum of all rows encoded so far; 0 for none. */
  long rowChecksum() {
    return isOpen() ? runs.rowChecksum() : 0;
  }

  /** Frees the pages of a batch that was encoded to {@code runBytes}. */
  void settle(PageBatch batch, long runBytes) {
    runQuotaBytes += batch.settle(memory, runBytes);
  }

  /** Bytes of quota that the runs in memory hold. */
  long runBytes() {
    return runQuotaBytes;
  }

  /** Time that encoding has taken, over all threads. */
  long encodeNanos() {
    return encodeNanos.sum();
  }

  /** CPU time that {@link #encodeByTask} has taken. */
  long encodeByTaskCpuNanos() {
    return encodeByTaskCpuNanos;
  }

  /** At least as many bytes as {@link #commit} will write. No encode may be running. */
  long encodedBytes() {
    long frames = runs.memoryBytes() + spilledBytes;
    return frames + (sealer == null ? 0 : EndMark.mostBytes(partitions, frames));
  }

  /**
   * Moves all runs in memory to a file. No encode may be running.
   *
   * @return bytes written; 0 when there was nothing to move
   */
  long spill() throws IOException {
    if (!isOpen() || runs.memoryBytes() <= 0) {
      return 0;
    }
    long written = spills.write(runs::spill);
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
    long total = runs.commit(file, blocks.checksum().orElseThrow(), lengths, checksums);
    memory.unreserve(runQuotaBytes);
    runQuotaBytes = 0;
    return total;
  }

  /** The way to commit while the last batch is encoded; null where there is none. After {@link #open}. */
  PartCommit parts() {
    return parts;
  }

  /** Begins it, for a data file that {@link #endParts} completes. */
  void beginParts(File file) throws IOException {
    parts.begin(file, blocks.checksum().orElseThrow());
  }

  /** As {@link #commit}, for what {@link #parts} has written. */
  long endParts(long[] lengths, long[] checksums) {
    long total = parts.end(lengths, checksums);
    memory.unreserve(runQuotaBytes);
    runQuotaBytes = 0;
    return total;
  }

  /** Bytes of memory that the runs hold. */
  long memoryBytes() {
    return runs.memoryBytes();
  }

  /** Frees the runs and deletes the spill files. Encodes that still run fail or finish. */
  @Override
  public void close() {
    if (isOpen()) {
      try {
        counters.add(Counter.WRITE_FRAMES_REPEATED, runs.framesRepeated());
      } finally {
        runs.close();
        memory.unreserve(runQuotaBytes);
        runQuotaBytes = 0;
      }
    }
    spills.deleteAll();
  }
}
