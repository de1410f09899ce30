package io.sluice.spark.conf;

import java.util.OptionalLong;

/**
 * The settings of an executor's GPU.
 *
 * @param use which batches go to it
 * @param memoryLimitBytes of the GPU's memory; empty when the native core decides
 * @param pinnedLimitBytes of the host's memory that is pinned for copies
 * @param minBatchBytes smaller batches are encoded by the CPU
 * @param timeoutMillis how long the GPU may not answer
 */
public record GpuSettings(GpuUse use, OptionalLong memoryLimitBytes, long pinnedLimitBytes, long minBatchBytes,
    long timeoutMillis) {}
