package io.sluice.bench.protocol;

/**
 * What one run cost.
 *
 * @param wallS seconds from submitting the job to its end, seen by the driver
 * @param shuffleWriteBytes sum of Spark's task metric, like all but the last three
 * @param shuffleReadBytes local and remote
 * @param shuffleRecords records written to shuffles
 * @param spilledBytes bytes spilled to disk
 * @param cpuS seconds of CPU time of the task threads
 * @param gcS seconds of garbage collection while tasks ran, added over tasks
 * @param failedTasks task attempts that did not succeed
 * @param processCpuS seconds of CPU time of the executor processes, every thread counted: encoder and
 *     decoder pools, JIT and garbage collector too
 * @param sluiceFallbacks shuffles that Sluice left to Spark
 */
public record RunMetrics(double wallS, long shuffleWriteBytes, long shuffleReadBytes, long shuffleRecords,
    long spilledBytes, double cpuS, double gcS, long failedTasks, double processCpuS, long sluiceFallbacks) {}
