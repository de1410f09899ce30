package io.sluice.spark.gpu;

import io.sluice.nativebridge.GpuKernels;
import io.sluice.nativebridge.NativeCore;
import io.sluice.nativebridge.NativeException;
import io.sluice.nativebridge.NativeGpu;
import io.sluice.spark.conf.BlockSettings;
import io.sluice.spark.conf.GpuSettings;
import io.sluice.spark.conf.GpuUse;
import java.io.File;
import java.io.IOException;

/** Runs in the native core. */
final class NativeGpuDevice implements GpuDevice {
  /** System property with the path of {@code libcuda.so.1} (tests). */
  static final String LIBRARY = "sluice.cuda.library";

  private final long handle;
  private final long cacheLimitBytes;
  private final long leastBytes;

  private NativeGpuDevice(long handle, GpuSettings settings) {
    this.handle = handle;
    this.cacheLimitBytes = settings.cacheLimitBytes();
    this.leastBytes = settings.minBatchBytes();
  }

  /**
   * @param blocks how map outputs are made
   * @param address of the device, as Spark's resource discovery gives it; empty: the only one
   */
  static GpuDevice open(GpuSettings settings, BlockSettings blocks, String address) throws IOException {
    String library = System.getProperty(LIBRARY, "");
    // Before anything is unpacked: most executors with auto have none.
    NativeException.check(NativeGpu.probe(library, address));
    try (GpuKernels kernels = GpuKernels.unpack()) {
      return new NativeGpuDevice(NativeException.check(NativeGpu.open(library, address, kernels.folder(),
          settings.use() == GpuUse.ON, settings.memoryLimitBytes().orElse(0), settings.cacheLimitBytes(),
          settings.pinnedLimitBytes(), settings.pagesLimitBytes(), settings.minBatchBytes(), settings.timeoutMillis(),
          blocks.codec().orElse(NativeCore.CODEC_NONE), blocks.level())), settings);
    }
  }

  @Override
  public String describe() {
    return NativeGpu.describe(handle);
  }

  @Override
  public int lanes() {
    return (int) NativeException.check(NativeGpu.lanes(handle));
  }

  @Override
  public String lacksLanes() {
    String why = NativeGpu.lacksLanes(handle);
    return why == null ? "" : why;
  }

  @Override
  public String lacksCache() {
    String why = NativeGpu.lacksCache(handle, cacheLimitBytes);
    return why == null ? "" : why;
  }

  @Override
  public void keep(int shuffleId, long mapId, File file, long[] lengths, boolean inMemory, boolean sealed) {
    int kept = NativeGpu.keepCopy(handle, shuffleId, mapId, file.getPath(), lengths, inMemory, sealed);
    if (kept != NativeCore.STALE_HANDLE) {
      NativeException.check(kept);
    }
  }

  @Override
  public void hostCopyMoved(int shuffleId, long mapId, boolean inMemory) {
    checkOrClosed(NativeGpu.hostCopyMoved(handle, shuffleId, mapId, inMemory));
  }

  @Override
  public boolean hasNearerCopy(int shuffleId, long mapId) {
    return NativeGpu.hasNearerCopy(handle, shuffleId, mapId) == 1;
  }

  @Override
  public boolean readCopy(int shuffleId, long mapId, int first, int end, long target, long bytes) {
    return NativeGpu.readCopy(handle, shuffleId, mapId, (long) first << Integer.SIZE | end, target, bytes) == 1;
  }

  @Override
  public void forgetShuffle(int shuffleId) {
    int dropped = NativeGpu.forgetShuffle(handle, shuffleId);
    if (dropped != NativeCore.STALE_HANDLE) {
      NativeException.check(dropped);
    }
  }

  @Override
  public boolean wants(long batchBytes, int fields, int partitions) {
    return NativeGpu.wants(handle, batchBytes, fields, partitions) == 1;
  }

  @Override
  public boolean encodeFor(long writer) {
    return checkOrClosed(NativeGpu.encodeFor(handle, writer));
  }

  @Override
  public long leastBytes() {
    return leastBytes;
  }

  @Override
  public boolean wantsPairs(PairRange pairs) {
    return NativeGpu.wantsPairs(handle, pairs.count(), pairs.low(), pairs.high()) == 1;
  }

  @Override
  public long beginSort() {
    return NativeException.check(NativeGpu.beginSort());
  }

  @Override
  public boolean sortPairs(long sort, PairRange pairs) {
    int sorted = NativeGpu.sortPairs(handle, sort, pairs.array(), pairs.source(), pairs.target(), pairs.count(),
        pairs.low(), pairs.high());
    return sorted != NativeCore.STALE_HANDLE && NativeException.check(sorted) == 1;
  }

  @Override
  public void endSort(long sort) {
    NativeException.check(NativeGpu.endSort(sort));
  }

  @Override
  public void pairsSortedByTask(PairRange pairs, long nanos) {
    checkOrClosed(NativeGpu.pairsSortedByCpu(handle, pairs.count(), pairs.low(), pairs.high(), nanos));
  }

  @Override
  public boolean statistics(long[] values) {
    return checkOrClosed(NativeGpu.statistics(handle, values));
  }

  /** It is closed when the executor ends, maybe before its last task: false then. */
  private static boolean checkOrClosed(int result) {
    return result != NativeCore.STALE_HANDLE && NativeException.check(result) == 0;
  }

  @Override
  public String lost() {
    String why = NativeGpu.lost(handle);
    return why == null ? "" : why;
  }

  @Override
  public String failure() {
    String what = NativeGpu.failure(handle);
    return what == null ? "" : what;
  }

  @Override
  public void close() {
    NativeGpu.close(handle);
  }
}
