package io.sluice.spark.write;

import java.io.File;
import java.io.IOException;

/**
 * The runs of one map task: batches that were encoded to frames, in memory or in spill files, and the data file that is
 * made of them. The native core keeps them ({@link NativeRuns}), or Java where there is no native library ({@link
 * JavaRuns}).
 *
 * <p>{@link #encode} may be called from several threads at once, and on a thread that has been given up while {@link
 * #close} runs: it then fails or finishes. The other methods belong to the task's thread, and only {@link #memoryBytes}
 * and {@link #waitingForGpu} may be called while an encode runs.
 */
interface Runs {
  /**
   * The most quota that {@link #encode} takes for a batch beside its pages. What the encoder's scratch memory takes for
   * any batch is not in it, because {@link io.sluice.spark.memory.MemoryBudget} counts that while it is there; but what
   * it takes more for a large row is, a multiple of the row.
   *
   * @param largeRowBytes the longest row that has a page of its own; 0 when none has
   */
  long encodeNeeds(long rowBytes, long rows, long largeRowBytes, int fields);

  /**
   * Encodes pages to a run; they are only read.
   *
   * @param sequence the run's place among the task's runs
   * @param pages as {@code NativeCore.writerEncode} wants them
   * @return bytes that the run holds
   * @throws io.sluice.nativebridge.NativeException with {@code NO_MEMORY} when the arena is at its limit. Frames that
   *     are finished stay as runs, which {@link #spill} may move; the call must be repeated before {@link #commit}, and
   *     goes on from there
   */
  long encode(long sequence, int fields, long[] pages);

  /**
   * As {@link #encode}, by the executor's GPU if there is one that does not decline. Only for a thread of {@link
   * io.sluice.spark.gpu.ExecutorGpu#trySubmit}: the call does not return while the GPU's driver does not.
   */
  default long encodeOnGpu(long sequence, int fields, long[] pages) {
    return encode(sequence, fields, pages);
  }

  /**
   * How many calls of {@link #encodeOnGpu} wait for the GPU. Those that it has declined, and whose threads encode, are
   * not among them.
   */
  default int waitingForGpu() {
    return 0;
  }

  /** How many batches of {@link #encodeOnGpu} the GPU has encoded. */
  default long batchesByGpu() {
    return 0;
  }

  /**
   * Adds a run that was written elsewhere: the frame of one row, in a file. It stays as it is until the commit; the
   * caller deletes the file in the end.
   *
   * @param sequence the run's place among the task's runs
   * @param start where the frame is in the file
   * @param bytes of the frame
   * @param rowHash the row's hash, as {@link io.sluice.spark.codec.RowHashes#ofRow} gives it; used only where the rows'
   *     checksum is kept
   * @param seal the frame's seal; null when frames are not sealed
   */
  void addRow(long sequence, int partition, File file, long start, long bytes, long rowHash, byte[] seal);

  /** Bytes of memory that the runs hold. */
  long memoryBytes();

  /** Frames that {@link #encode} made and threw away for want of memory, and made again later. */
  long framesRepeated();

  /**
   * Moves all runs in memory to a new file, which the caller deletes in the end.
   *
   * @return bytes written
   * @throws IOException when the file cannot be written; another directory may help. The runs stay in memory
   * @throws io.sluice.nativebridge.NativeException for the same; it says whether another directory may help
   */
  long spill(File file) throws IOException;

  /**
   * Writes the data file, partition by partition, and frees the runs. When that fails they stay as they are. It fails
   * too when sealed frames in a file are not those that were written.
   *
   * @param checksumAlgorithm one of {@code NativeCore}'s
   * @param lengths filled with each partition's bytes
   * @param checksums filled with each partition's checksum; empty when there are none
   * @return total bytes
   */
  long commit(File file, int checksumAlgorithm, long[] lengths, long[] checksums) throws IOException;

  /** The way to commit while the last batch is encoded; null where there is none. */
  default PartCommit partCommit() {
    return null;
  }

  /** Spark's checksum of all rows encoded so far. */
  long rowChecksum();

  /** Frees the runs. */
  void close();
}
