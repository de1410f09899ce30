package io.sluice.spark.memory;

import org.apache.spark.memory.MemoryConsumer;
import org.apache.spark.memory.MemoryMode;
import org.apache.spark.memory.TaskMemoryManager;

/**
 * Counts buffers on the Java heap in Spark's execution memory, so that the task's other operators get less while the
 * buffers exist. Spark cannot make the owner free the buffers; the owner frees them itself when {@link #cover} returns
 * false. One thread.
 */
public final class HeapQuota extends MemoryConsumer {
  private static final long STEP_BYTES = 1 << 20;

  public HeapQuota(TaskMemoryManager manager) {
    super(manager, manager.pageSizeBytes(), MemoryMode.ON_HEAP);
  }

  /** Whether Spark's memory covers {@code bytes} in all; takes more, a step ahead, if it must. */
  public boolean cover(long bytes) {
    long missing = bytes - getUsed();
    if (missing <= 0) {
      return true;
    }
    long wanted = (missing + STEP_BYTES - 1) / STEP_BYTES * STEP_BYTES;
    // A partial grant is kept until release: it covers part of the buffers.
    return acquireMemory(wanted) >= missing;
  }

  /** Gives everything back. */
  public void release() {
    freeMemory(getUsed());
  }

  @Override
  public long spill(long bytes, MemoryConsumer trigger) {
    return 0;
  }
}
