package io.sluice.spark.memory;

import java.io.IOException;
import org.apache.spark.memory.MemoryConsumer;
import org.apache.spark.memory.MemoryMode;
import org.apache.spark.memory.TaskMemoryManager;

/**
 * Counts buffers on the Java heap in Spark's execution memory, so that the task's other operators get less while the
 * buffers exist. When the task's other operators need memory, Spark asks the owner to spill, if it can; without that
 * the owner frees the buffers when {@link #cover} returns false. One thread, but for releases and spills.
 */
public final class HeapQuota extends MemoryConsumer {
  private static final long STEP_BYTES = 1 << 20;

  /** Moves the owner's data to disk when another consumer of the task's memory needs room. */
  public interface Spill {
    /**
     * @param trigger the consumer that needs memory; the calling thread is its
     * @return how many bytes were released
     */
    long spill(long bytes, MemoryConsumer trigger) throws IOException;
  }

  private final Spill onDemand;

  /** For buffers that only their owner frees. */
  public HeapQuota(TaskMemoryManager manager) {
    this(manager, (bytes, trigger) -> 0);
  }

  public HeapQuota(TaskMemoryManager manager, Spill onDemand) {
    super(manager, manager.pageSizeBytes(), MemoryMode.ON_HEAP);
    this.onDemand = onDemand;
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

  /** Gives everything back, which may be nothing. */
  public synchronized void release() {
    freeMemory(getUsed());
  }

  /** Gives {@code bytes} back, or all if there are fewer. */
  public synchronized void release(long bytes) {
    freeMemory(Math.min(bytes, getUsed()));
  }

  @Override
  public long spill(long bytes, MemoryConsumer trigger) throws IOException {
    return trigger == this ? 0 : onDemand.spill(bytes, trigger);
  }
}
