package io.sluice.spark.metrics;

/**
 * How long one task's rows were encoded and decoded, over all threads, for all shuffles that it wrote and read.
 *
 * @param taskId Spark's number of the task attempt, which no other one has
 */
public record TaskTimes(long taskId, long encodeNanos, long decodeNanos) {}
