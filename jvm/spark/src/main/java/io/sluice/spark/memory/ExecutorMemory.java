package io.sluice.spark.memory;

import io.sluice.nativebridge.Arena;
import io.sluice.spark.conf.MemorySettings;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.apache.spark.TaskContext;
import org.apache.spark.util.TaskCompletionListener;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The block memory of one executor process: its budget, the arena's limit, and one {@link TaskMemory} per task attempt
 * that runs. Any thread.
 */
public final class ExecutorMemory implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(ExecutorMemory.class);

  private static final long ROUNDING_SHARE = 8;

  private final Arena arena;
  private final MemorySettings settings;
  private final Counters counters;
  private final MemoryBudget budget;
  private final ConcurrentMap<Long, TaskMemory> tasks = new ConcurrentHashMap<>();
  private final FreeMemoryPurge purge;

  /**
   * Sets the arena's limit to the executor's.
   *
   * @param arena where the memory comes from
   * @param cores tasks that run at once
   */
  public ExecutorMemory(Arena arena, MemorySettings settings, int cores, Counters counters) {
    this.arena = arena;
    this.settings = settings;
    this.counters = counters;
    this.purge = new FreeMemoryPurge(arena, () -> !tasks.isEmpty());
    this.budget = new MemoryBudget(settings.limit().bytes(), settings.limit().ceilingBytes(), cores, this::permit,
        arena::scratchBytes);
    if (!settings.offHeapEnabled()) {
      LOG.info("Sluice memory: {}", settings.limit().describe());
      settings.limit().warning().ifPresent(LOG::warn);
    }
    arena.setLimit(settings.totalBytes());
  }

  /** Moves the arena's limit for a task that is alone and needs more than the limit. */
  private void permit(long bytes) {
    if (bytes > budget.limitBytes()) {
      counters.increment(Counter.MEMORY_BEYOND_LIMIT);
      LOG.warn("A task that is the only one to hold memory takes {} bytes, more than spark.sluice.memory.limit = {}: "
          + "it has rows that do not fit the limit", bytes, budget.limitBytes());
    }
    // The arena rounds sizes up. Beyond the limit only this one task holds memory, so without room for the rounding the
    // arena would refuse its leases.
    long rounding = bytes > budget.limitBytes() ? bytes / ROUNDING_SHARE : 0;
    arena.setLimit(bytes + rounding);
  }

  /** The memory of the task that {@code context} belongs to; made by the first call, freed when the task ends. */
  public TaskMemory of(TaskContext context) {
    TaskMemory open = tasks.get(context.taskAttemptId());
    if (open != null) {
      return open;
    }
    TaskMemory fresh = new TaskMemory(context, arena, settings, budget, counters);
    TaskMemory known = tasks.putIfAbsent(context.taskAttemptId(), fresh);
    if (known != null) {
      return known;
    }
    purge.memoryIsUsed();
    // Listeners run last registered first, so this one runs after those of the memory's users.
    context.addTaskCompletionListener((TaskCompletionListener) ended -> {
      tasks.remove(ended.taskAttemptId());
      fresh.close();
    });
    return fresh;
  }

  /** Where the memory comes from. */
  public Arena arena() {
    return arena;
  }

  /** What all tasks hold; not used with Spark's off-heap memory. */
  public MemoryBudget budget() {
    return budget;
  }

  /** Ends the thread that gives memory back. Twice is fine. */
  @Override
  public void close() {
    purge.close();
  }
}
