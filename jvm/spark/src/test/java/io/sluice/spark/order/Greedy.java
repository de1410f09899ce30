package io.sluice.spark.order;

import org.apache.spark.TaskContext;
import org.apache.spark.memory.MemoryConsumer;
import org.apache.spark.memory.MemoryMode;

/** Takes all memory of a task, which other consumers must spill for, and spills nothing itself. */
final class Greedy extends MemoryConsumer {
  Greedy(TaskContext context) {
    super(context.taskMemoryManager(), context.taskMemoryManager().pageSizeBytes(), MemoryMode.ON_HEAP);
  }

  long takeAll() {
    return acquireMemory(1L << 40);
  }

  @Override
  public long spill(long bytes, MemoryConsumer trigger) {
    return 0;
  }
}
