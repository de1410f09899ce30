package io.sluice.spark.conf;

import java.util.OptionalLong;

/**
 * The settings of map tasks.
 *
 * @param threads that encode
 * @param pageBytes size of the pages that rows are collected in
 * @param batchBytes rows that are encoded together; empty when the writer decides
 */
public record WriterSettings(PoolThreads threads, long pageBytes, OptionalLong batchBytes) {}
