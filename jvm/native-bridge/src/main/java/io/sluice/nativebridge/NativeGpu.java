package io.sluice.nativebridge;

import java.util.List;

/**
 * The calls into the native core that let a GPU encode batches of map outputs and sort pairs of tasks. Nothing of CUDA
 * is loaded before the first call of {@link #probe} or {@link #open}.
 *
 * <p><b>What a GPU does.</b> It makes the frames that {@link NativeCore#writerEncode} makes, byte for byte. It is asked
 * by {@link NativeCore#writerEncodeAccelerated} only. It may decline a batch, and then the thread that has called that
 * encodes it; so a GPU changes no result and no error of that call.
 *
 * <p><b>Results, handles, threads.</b> As in {@link NativeCore}: negative is a reason, {@link
 * NativeCore#lastErrorMessage} says more, a closed handle is {@link NativeCore#STALE_HANDLE}. Every method may be
 * called from any thread. {@link #probe} and {@link #open} may take seconds, and do not return if the driver does not:
 * for a thread that nobody waits for. No other call here waits for the GPU, except {@link #keepCopy},
 * {@link #readCopy}, {@link #sortPairs} and {@link #close}.
 *
 * <p><b>How large a batch is</b>, for {@link #wants} as for the native core: the bytes of its rows and of their entries
 * in the pages, 8 bytes each.
 */
public final class NativeGpu {
  /**
   * The device makes other bytes than the CPU in the self-test; it must not be used, and {@link #open} does not open
   * it.
   */
  public static final int SELF_TEST = -17;

  /** The names of the values of {@link #statistics}, in their order: the native library must have the same. */
  public static final List<String> STATISTICS = List.of(
      "encoded_batches", "encoded_bytes", "encode_nanos", "frames_by_cpu", "pinned_bytes", "unpinned_bytes", "decodes",
      "sorts", "sorted_pairs", "sort_nanos", "lanes_refused", "too_small", "cpu_faster", "paused", "busy", "too_large",
      "checks_failed", "wrong_results", "codec_needed", "no_memory", "not_taken", "device_failed", "device_lost",
      "cache_bytes", "cache_copies", "cache_kept", "cache_kept_bytes", "cache_hits", "cache_hit_bytes", "cache_misses",
      "cache_evictions", "cache_pressure_drops", "cache_forgotten", "cache_refused_by_limit",
      "cache_refused_by_memory", "cache_refused_busy", "cache_failed", "cache_damaged", "cache_lost");

  private NativeGpu() {}

  /**
   * Opens the driver and looks whether it has the device, without using it.
   *
   * @param library path of {@code libcuda.so.1}; empty: what the environment variable {@code SLUICE_CUDA_LIBRARY}
   *     names, or the machine's
   * @param device a number in the order of PCI addresses, or a UUID; empty: the only device
   * @return 0; {@link NativeTransport#NOT_FOUND}: there is no driver, or no such device for this process; {@link
   *     NativeTransport#UNAVAILABLE}: there is one, and it cannot be used
   */
  public static native int probe(String library, String device);

  /**
   * Makes a context on the device, loads the kernels, has them pass the self-test and, unless all batches go to the
   * GPU, measures how fast both ways are.
   *
   * @param library as for {@link #probe}
   * @param device as for {@link #probe}
   * @param kernels folder with the kernels of {@code tools/gpu-kernels}; it is read until this returns
   * @param always whether all batches go to the GPU that it takes; else those for which it is faster
   * @param memoryLimitBytes of the device's memory that is used; 0: an eighth of it and {@code cacheLimitBytes}, at
   *     most half of what is free
   * @param cacheLimitBytes of these, how much copies of map outputs may have; 0: none are kept
   * @param pinnedLimitBytes of the host's memory that is pinned: 4 MiB for each batch that is encoded at a time
   * @param pagesLimitBytes of the arena's memory that is pinned, because pages are copied from it; 0: none
   * @param leastBytes batches of fewer bytes are not the GPU's
   * @param timeoutMillis a device that has not answered for so long is not used again by this process
   * @param codec of the map outputs, one of {@link NativeCore}'s: both ways are measured with it
   * @param level of the codec, one of {@link NativeCore}'s
   * @return a handle; {@link #SELF_TEST}, or what {@link #probe} returns
   * @throws NativeException when the native library is of another build
   */
  public static long open(String library, String device, String kernels, boolean always, long memoryLimitBytes,
      long cacheLimitBytes, long pinnedLimitBytes, long pagesLimitBytes, long leastBytes, long timeoutMillis, int codec,
      int level) {
    String names = String.join(",", STATISTICS);
    if (!names.equals(statisticNames())) {
      throw new NativeException(NativeTransport.UNAVAILABLE, "the native library is of another build: its GPU has the "
          + "statistics " + statisticNames() + ", this jar expects " + names);
    }
    long[] limits = {always ? 1 : 0, memoryLimitBytes, cacheLimitBytes, pinnedLimitBytes, pagesLimitBytes, leastBytes,
      timeoutMillis, codec, level};
    return openWithin(library, device, kernels, limits);
  }

  /** @param limits the last nine arguments of {@link #open}, in their order */
  private static native long openWithin(String library, String device, String kernels, long[] limits);

  /** One line for the log: device, driver, what is used of it. Null for a closed handle. */
  public static native String describe(long gpu);

  /** How many batches it encodes at a time, at most. */
  public static native int lanes(long gpu);

  /**
   * Why fewer batches are encoded at a time than the limit on pinned memory allows; empty if as many are. Null for a
   * closed handle.
   */
  public static native String lacksLanes(long gpu);

  /**
   * 1 if a batch of so many bytes would be encoded by the GPU now; else 0, and the reason is counted in {@link
   * #statistics}.
   *
   * @param fields of its rows
   * @param partitions of the map output
   */
  public static native int wants(long gpu, long batchBytes, int fields, int partitions);

  /**
   * Lets the GPU encode the batches that a writer of {@link NativeCore#writerOpen} gets by {@link
   * NativeCore#writerEncodeAccelerated} from now on.
   */
  public static native int encodeFor(long gpu, long writer);

  /**
   * 1 if so many pairs would be sorted by the GPU now; else 0, and the reason is counted in {@link #statistics}. Of
   * their size 16 bytes count for each.
   *
   * @param low as for {@link #sortPairs}
   * @param high as for {@link #sortPairs}
   */
  public static native int wantsPairs(long gpu, int count, int low, int high);

  /** A handle by which a task lets {@link #sortPairs} touch its memory, until {@link #endSort}. */
  public static native long beginSort();

  /**
   * Sorts pairs of an address and a number by some bytes of the numbers, as unsigned numbers; pairs that are equal in
   * these bytes stay in order. It waits for the GPU, and does not return if the driver does not: for another thread
   * than the task's. The pairs stay as they are; the sorted ones go to other memory, of whose content nothing can be
   * said if they were not sorted.
   *
   * @param sort of {@link #beginSort}
   * @param array on the heap, with pairs and room for sorted ones; null if both are off it
   * @param source where the pairs begin: a place in the array, in longs, or else an address
   * @param target where the sorted ones go, likewise; they do not overlap
   * @param count of pairs
   * @param low the lowest byte of the numbers by which they are sorted; 0 is the lowest of all
   * @param high the highest, at most 7
   * @return 1 if they were sorted; 0 if not, and the reason is counted in {@link #statistics}; {@link
   *     NativeCore#STALE_HANDLE} when the GPU was closed, or the sort has ended already
   */
  public static native int sortPairs(
      long gpu, long sort, long[] array, long source, long target, int count, int low, int high);

  /**
   * Ends a sort: when this has returned, nothing touches the task's memory any more, also if {@link #sortPairs} is held
   * up by the driver. Waits for a copy of 4 MiB at most.
   */
  public static native int endSort(long sort);

  /** Tells how long a task took to sort pairs itself, which the GPU has not sorted. */
  public static native int pairsSortedByCpu(long gpu, int count, int low, int high, long nanos);

  /**
   * Why copies of map outputs may have fewer bytes than {@link #open} was told; empty if they may have as many. Null
   * for a closed handle.
   *
   * @param cacheLimitBytes as {@link #open} was told
   */
  public static native String lacksCache(long gpu, long cacheLimitBytes);

  /**
   * Copies a committed map output to the device, as far as the limit and the device's memory allow. It waits for the
   * driver, about as long as it takes to read the file.
   *
   * @param file the data file, or a link to it; it must not change
   * @param lengths bytes of each partition, which lie one behind another in the file
   * @param inMemory whether the file is in memory
   * @param sealed whether frames are sealed
   * @return 1 if the copy is there; 0 if not, and {@link #statistics} has the reason: the file is what readers get
   */
  public static native int keepCopy(long gpu, int shuffle, long map, String file, long[] lengths, boolean inMemory,
      boolean sealed);

  /** The file of a map output has moved: copies of those on a disk cost more to bring back, and are dropped later. */
  public static native int hostCopyMoved(long gpu, int shuffle, long map, boolean inMemory);

  /** 1 if the GPU's memory has a copy of a map output and the host's is on the disk; 0 if not. Waits for nothing. */
  public static native int hasNearerCopy(long gpu, int shuffle, long map);

  /**
   * Copies partitions of a map output from the GPU's memory to {@code target}. Waits for the GPU.
   *
   * @param partitions the first in the high half, the one after the last in the low half
   * @param target a live lease that nobody else uses during the call
   * @param bytes of the partitions, by the index of the host's copy
   * @return 1 if the target has the bytes; 0 if the host's copy is to be read, and the target's bytes mean nothing; or
   *     one of {@link NativeCore}'s errors
   */
  public static native int readCopy(long gpu, int shuffle, long map, long partitions, long target, long bytes);

  /**
   * Drops the copies of a shuffle's map outputs; those that are in use when their readers have left. Calls no driver.
   *
   * @return how many
   */
  public static native int forgetShuffle(long gpu, int shuffle);

  /** Why the device is not used any more; empty while it is. Null for a closed handle. */
  public static native String lost(long gpu);

  /**
   * What the first call of the driver said that has failed while the device could still be used; empty while none has.
   * Null for a closed handle.
   */
  public static native String failure(long gpu);

  /** The names of the values of {@link #statistics}, in their order, separated by commas. */
  static native String statisticNames();

  /**
   * Counts since it was opened; {@code cache_bytes} and {@code cache_copies} are those of this moment.
   *
   * @param values one for each of {@link #STATISTICS}
   */
  public static native int statistics(long gpu, long[] values);

  /**
   * Ends the handle. The device is given back when the last writer has gone that it encodes for; that may wait for its
   * work, at most ten seconds.
   */
  public static native int close(long gpu);
}
