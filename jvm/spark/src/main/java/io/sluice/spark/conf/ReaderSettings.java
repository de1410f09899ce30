package io.sluice.spark.conf;

/**
 * The settings of reduce tasks.
 *
 * @param threads decoder threads of the executor
 * @param maxBytesInFlight that one task may have decoded ahead of its consumer
 */
public record ReaderSettings(int threads, long maxBytesInFlight) {}
