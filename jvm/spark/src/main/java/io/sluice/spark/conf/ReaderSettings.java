package io.sluice.spark.conf;

/**
 * The settings of reduce tasks.
 *
 * @param threads that decode
 * @param maxBytesInFlight that one task may have decoded ahead of its consumer
 */
public record ReaderSettings(PoolThreads threads, long maxBytesInFlight) {}
