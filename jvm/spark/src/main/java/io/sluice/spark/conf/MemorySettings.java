package io.sluice.spark.conf;

/**
 * The settings of block memory.
 *
 * @param limit not used with {@code offHeapEnabled}
 * @param waitNanos how long a task waits for memory before it fails
 * @param failOnLeak whether a task that ends with memory leased fails
 * @param offHeapEnabled whether memory is accounted by Spark's memory manager
 * @param offHeapBytes {@code spark.memory.offHeap.size}
 */
public record MemorySettings(
    MemoryLimit limit, long waitNanos, boolean failOnLeak, boolean offHeapEnabled, long offHeapBytes) {
  private static final long SORT_SHARE = 2;
  /** Smaller, because Spark's sorter, which takes over, must find room beside the rows in the same memory. */
  private static final long SORT_SHARE_OF_SPARKS = 8;

  /** The limit of block memory of all tasks of the executor together, in bytes. */
  public long totalBytes() {
    return offHeapEnabled ? offHeapBytes : limit.bytes();
  }

  /**
   * The most memory in which one task may keep rows to sort them, in bytes; the rest is for frames and batches.
   *
   * @param tasks that run at once
   */
  public long sortBytes(int tasks) {
    return totalBytes() / tasks / (offHeapEnabled ? SORT_SHARE_OF_SPARKS : SORT_SHARE);
  }
}
