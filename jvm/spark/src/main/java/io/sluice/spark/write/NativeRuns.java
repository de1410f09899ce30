package io.sluice.spark.write;

import io.sluice.nativebridge.NativeCore;
import io.sluice.nativebridge.NativeException;
import io.sluice.spark.conf.BlockSettings;
import io.sluice.spark.gpu.ExecutorGpu;
import io.sluice.spark.seal.FrameSealer;
import io.sluice.spark.seal.OutputKeys;
import java.io.File;
import java.io.IOException;

/** Runs in the native core. */
final class NativeRuns implements Runs {
  private final long handle;
  /** What {@link NativeCore#writerEncodeNeeds} fills: bytes leased, bytes of scratch memory. */
  private final long[] needs = new long[2];
  private final boolean sealed;
  /** Null for none. */
  private final ExecutorGpu gpu;
  /** Whether the GPU encodes for the writer. It may be opened after the writer: beside the first tasks. */
  private volatile boolean gpuEncodes;

  /** @param keys null when frames are not sealed */
  NativeRuns(int partitions, BlockSettings blocks, boolean rowChecksums, OutputKeys keys) {
    this(partitions, blocks, rowChecksums, keys, null);
  }

  /** @param gpu encodes batches too, if it likes to; null for none */
  NativeRuns(int partitions, BlockSettings blocks, boolean rowChecksums, OutputKeys keys, ExecutorGpu gpu) {
    this.sealed = keys != null;
    this.gpu = gpu;
    this.handle = NativeException.check(NativeCore.writerOpen(partitions, blocks.codec().orElseThrow(), blocks.level(),
        rowChecksums, keys == null ? null : new long[] {keys.shuffleId(), keys.mapId(), FrameSealer.newId()},
        keys == null ? null : keys.nativeKeys()));
    this.gpuEncodes = gpu != null && gpu.encodeFor(handle);
  }

  @Override
  public long encodeNeeds(long rowBytes, long rows, long largeRowBytes, int fields) {
    NativeException.check(NativeCore.writerEncodeNeeds(handle, rowBytes, rows, largeRowBytes, fields, needs));
    if (largeRowBytes == 0) {
      return needs[0];
    }
    long scratchBytes = needs[1];
    NativeException.check(NativeCore.writerEncodeNeeds(handle, rowBytes, rows, 0, fields, needs));
    return needs[0] + scratchBytes - needs[1];
  }

  @Override
  public long encode(long sequence, int fields, long[] pages) {
    return NativeException.check(NativeCore.writerEncode(handle, sequence, fields, pages));
  }

  @Override
  public long encodeOnGpu(long sequence, int fields, long[] pages) {
    if (gpu != null && !gpuEncodes) {
      gpuEncodes = gpu.encodeFor(handle);
    }
    long runBytes = NativeException.check(NativeCore.writerEncodeAccelerated(handle, sequence, fields, pages));
    if (gpu != null) {
      gpu.count();
    }
    return runBytes;
  }

  @Override
  public int waitingForGpu() {
    return (int) NativeException.check(NativeCore.writerWaitingForAccelerator(handle));
  }

  @Override
  public long batchesByGpu() {
    return NativeException.check(NativeCore.writerAcceleratedBatches(handle));
  }

  @Override
  public void addRow(long sequence, int partition, File file, long start, long bytes, long rowHash,
      byte[] seal) {
    NativeException.check(
        NativeCore.writerAddRow(handle, sequence, partition, file.getPath(), start, bytes, rowHash, seal));
  }

  @Override
  public long memoryBytes() {
    return NativeException.check(NativeCore.writerMemoryBytes(handle));
  }

  @Override
  public long framesRepeated() {
    return NativeException.check(NativeCore.writerFramesRepeated(handle));
  }

  @Override
  public long spill(File file) {
    return NativeException.check(NativeCore.writerSpill(handle, file.getPath()));
  }

  @Override
  public long commit(File file, int checksumAlgorithm, long[] lengths, long[] checksums) throws IOException {
    long total = NativeCore.writerCommit(handle, file.getPath(), checksumAlgorithm, lengths,
        checksums.length == 0 ? null : checksums);
    if (total == NativeCore.NOT_AUTHENTIC) {
      throw new SpillChangedException(NativeCore.lastErrorMessage(), null);
    }
    if (NativeException.isFileFailure(total)) {
      throw new IOException("writing the map output to " + file + " failed: " + NativeCore.lastErrorMessage());
    }
    return NativeException.check(total);
  }

  @Override
  public PartCommit partCommit() {
    return sealed ? null : new NativePartCommit(handle);
  }

  @Override
  public long rowChecksum() {
    long[] checksum = new long[1];
    NativeException.check(NativeCore.writerRowChecksum(handle, checksum));
    return checksum[0];
  }

  @Override
  public void close() {
    NativeCore.writerClose(handle);
  }
}
