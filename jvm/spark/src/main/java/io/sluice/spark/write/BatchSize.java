package io.sluice.spark.write;

import io.sluice.spark.conf.MemorySettings;
import io.sluice.spark.conf.WriterSettings;

/**
 * How many bytes of rows one writer encodes together. Larger batches give longer frames per partition, which compress
 * better; each batch must fit the task's part of the memory beside runs and, with encoder threads, other batches.
 */
public final class BatchSize {
  private static final long MIB = 1024L * 1024L;
  private static final long LEAST = 4 * MIB;
  private static final long MOST = 64 * MIB;
  private static final long ROWS_PER_PARTITION = 1024;
  private static final long TASK_SHARE = 4;
  /** With encoder threads up to three batches are under way in one task: one being filled, two being encoded. */
  private static final long TASK_SHARE_WITH_THREADS = 8;

  private final WriterSettings writer;
  private final long mostBytes;
  private final int partitions;

  /**
   * @param tasks that run at once in the executor
   * @param partitions of the shuffle
   */
  BatchSize(WriterSettings writer, MemorySettings memory, int tasks, int partitions) {
    this.writer = writer;
    this.mostBytes = most(writer, memory, tasks);
    this.partitions = partitions;
  }

  private static long most(WriterSettings writer, MemorySettings memory, int tasks) {
    long share = writer.threads().certain() == 0 ? TASK_SHARE : TASK_SHARE_WITH_THREADS;
    return Math.min(MOST, memory.totalBytes() / tasks / share);
  }

  /**
   * The size of the batches of shuffles with so few partitions that a batch is no longer than it has to be: those of
   * others are as long or longer.
   *
   * @param tasks that run at once in the executor
   */
  public static long leastBytes(WriterSettings writer, MemorySettings memory, int tasks) {
    return new BatchSize(writer, memory, tasks, 1).bytes(0);
  }

  /** @param averageRowBytes of the rows seen so far */
  long bytes(long averageRowBytes) {
    return writer.batchBytes().orElseGet(() -> Math.min(Math.max(wanted(averageRowBytes), LEAST), mostBytes));
  }

  private long wanted(long averageRowBytes) {
    long rows = partitions * ROWS_PER_PARTITION;
    return Math.multiplyHigh(rows, averageRowBytes) == 0 ? rows * averageRowBytes : Long.MAX_VALUE;
  }
}
