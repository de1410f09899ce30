package io.sluice.spark.memory;

import java.io.IOException;
import java.util.concurrent.TimeUnit;
import org.apache.spark.memory.MemoryConsumer;
import org.apache.spark.memory.MemoryMode;
import org.apache.spark.memory.TaskMemoryManager;

/**
 * A task's share of Spark's off-heap execution memory ({@code spark.memory.offHeap.enabled}). Other operators
 * of the task can make Sluice spill, and Sluice can make them spill, as among Spark's own consumers.
 */
final class SparkQuota extends MemoryConsumer implements Quota {
  private final long limitBytes;
  private final TaskSpiller spiller;
  private final Object pause = new Object();

  SparkQuota(TaskMemoryManager manager, long limitBytes, TaskSpiller spiller) {
    super(manager, manager.pageSizeBytes(), MemoryMode.OFF_HEAP);
    this.limitBytes = limitBytes;
    this.spiller = spiller;
  }

  @Override
  public boolean take(long bytes, Claim claim, long nanos) throws InterruptedException {
    if (nanos > 0) {
      pause(nanos);
    }
    long granted = acquireMemory(bytes);
    if (granted < bytes) {
      freeMemory(granted);
      return false;
    }
    return true;
  }

  /** Spark does not signal when its pool has room again, so a wait here is a timed pause before asking again. */
  private void pause(long nanos) throws InterruptedException {
    synchronized (pause) {
      TimeUnit.NANOSECONDS.timedWait(pause, nanos);
    }
  }

  @Override
  public void give(long bytes) {
    freeMemory(bytes);
  }

  @Override
  public boolean isAlone() {
    return false;
  }

  @Override
  public long mostBytes() {
    return limitBytes;
  }

  @Override
  public String limitSetting() {
    return "spark.memory.offHeap.size";
  }

  @Override
  public long spill(long size, MemoryConsumer trigger) throws IOException {
    // TaskMemory asks the task's writer itself before it waits; here other consumers of the task ask.
    return trigger == this ? 0 : spiller.spill(size);
  }
}
