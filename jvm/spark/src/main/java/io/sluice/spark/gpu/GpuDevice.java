package io.sluice.spark.gpu;

import java.io.File;
import java.io.IOException;

/**
 * A GPU that encodes batches and sorts pairs. Executors use {@link NativeGpuDevice}; tests have one in this process.
 * All methods may be called from any thread, and none but {@link #keep}, {@link #readCopy}, {@link #sortPairs} and
 * {@link #close} waits for the GPU.
 */
interface GpuDevice {
  /** Opens one. */
  @FunctionalInterface
  interface Opener {
    /**
     * May take seconds.
     *
     * @throws io.sluice.nativebridge.NativeException when there is none or it cannot be used; the reason says which
     * @throws IOException when its kernels cannot be unpacked
     */
    GpuDevice open() throws IOException;
  }

  /** One line for the log. */
  String describe();

  /** How many batches it encodes at a time, at most. */
  int lanes();

  /** Why these are fewer than the limit on pinned memory allows; empty if they are as many. */
  String lacksLanes();

  /** Why copies of map outputs may have fewer bytes than the settings say; empty if they may have as many. */
  String lacksCache();

  /**
   * Copies a committed map output to the device, if there is room; if not, {@link #statistics} has the reason. Waits
   * for the GPU.
   *
   * @param file its data file
   * @param lengths of its partitions
   * @param inMemory whether the file is in memory
   * @param sealed whether its frames are sealed
   */
  void keep(int shuffleId, long mapId, File file, long[] lengths, boolean inMemory, boolean sealed);

  /** The host's copy of a map output has moved to memory or to the disk. */
  void hostCopyMoved(int shuffleId, long mapId, boolean inMemory);

  /** Whether a copy of a map output is in its memory, and the host's on the disk. */
  boolean hasNearerCopy(int shuffleId, long mapId);

  /**
   * Copies partitions of a map output from its memory to {@code target}. Waits for the GPU.
   *
   * @param end the partition after the last
   * @param target the address of a lease that nobody else uses
   * @param bytes of the partitions, by the index of the host's copy
   * @return whether the target has the bytes; if not, the host's copy is to be read
   */
  boolean readCopy(int shuffleId, long mapId, int first, int end, long target, long bytes);

  /** Drops all copies of a shuffle's map outputs. */
  void forgetShuffle(int shuffleId);

  /**
   * Whether a batch would be encoded by it now; if not, {@link #statistics} has the reason.
   *
   * @param batchBytes of rows and entries, as {@code PageBatch.filledBytes} counts them
   * @param fields of its rows
   * @param partitions of the map output
   */
  boolean wants(long batchBytes, int fields, int partitions);

  /**
   * Lets it encode the batches that a native writer gets for it from now on.
   *
   * @return false when it was closed
   */
  boolean encodeFor(long writer);

  /** Batches and pairs of fewer bytes are never its. */
  long leastBytes();

  /** Whether pairs would be sorted by it now; if not, {@link #statistics} has the reason. */
  boolean wantsPairs(PairRange pairs);

  /** A handle by which {@link #sortPairs} may touch the memory of pairs, until {@link #endSort}. */
  long beginSort();

  /**
   * Sorts pairs: those of the source stay as they are, the sorted ones are at the target. Waits for the GPU, and does
   * not return if its driver does not.
   *
   * @return false if it did not, for whatever reason; the target's content means nothing then
   */
  boolean sortPairs(long sort, PairRange pairs);

  /** Nothing touches the pairs of a sort any more when this has returned, whatever the GPU does. */
  void endSort(long sort);

  /** Tells how long a task took to sort pairs itself. */
  void pairsSortedByTask(PairRange pairs, long nanos);

  /**
   * Fills in the counts of {@link io.sluice.nativebridge.NativeGpu#STATISTICS}.
   *
   * @return false when it was closed
   */
  boolean statistics(long[] values);

  /** Why it is not used any more; empty while it is. */
  String lost();

  /** What the first call of the driver said that has failed while it could still be used; empty while none has. */
  String failure();

  /** Gives it back. */
  void close();
}
