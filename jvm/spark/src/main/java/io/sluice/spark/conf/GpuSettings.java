package io.sluice.spark.conf;

import java.util.Optional;
import java.util.OptionalLong;

/**
 * The settings of an executor's GPU.
 *
 * @param use which batches go to it
 * @param memoryLimitBytes of the GPU's memory; empty when the native core decides
 * @param cacheLimitBytes of these, for copies of map outputs; 0: none are kept
 * @param pinnedLimitBytes of the host's memory that is pinned for copies from the GPU
 * @param pagesLimitBytes of the arena's memory that is pinned for copies to the GPU
 * @param minBatchBytes batches of fewer bytes of rows and entries are encoded by the CPU
 * @param timeoutMillis how long the GPU may not answer
 */
public record GpuSettings(GpuUse use, OptionalLong memoryLimitBytes, long cacheLimitBytes, long pinnedLimitBytes,
    long pagesLimitBytes, long minBatchBytes, long timeoutMillis) {
  /**
   * What is to be said of settings with which shuffles of few partitions do not use the GPU.
   *
   * @param batchBytes the size of their batches
   */
  public Optional<String> warning(long batchBytes) {
    if (use == GpuUse.OFF || batchBytes >= minBatchBytes) {
      return Optional.empty();
    }
    return Optional.of("The GPU does not encode map output of shuffles with few partitions: their batches have "
        + batchBytes + " bytes in this executor, and spark.sluice.gpu.minBatchBytes is " + minBatchBytes + ". Batches "
        + "are as long as spark.sluice.writer.batchBytes says, or as spark.sluice.memory.limit allows for each task.");
  }
}
