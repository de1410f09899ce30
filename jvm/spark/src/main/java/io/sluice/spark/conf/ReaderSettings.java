package io.sluice.spark.conf;

/**
 * The settings of reduce tasks.
 *
 * @param threads decoder threads of the executor
 * @param maxBytesInFlight decoded by all tasks of the executor ahead of their consumers
 */
public record ReaderSettings(int threads, long maxBytesInFlight) {}
