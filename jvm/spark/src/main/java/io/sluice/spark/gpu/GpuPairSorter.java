package io.sluice.spark.gpu;

import java.util.Optional;
import org.apache.spark.TaskContext;

/**
 * Sorts pairs of an address and a number for one task, by its executor's GPU if that takes them: else the task does it
 * itself. Where there is no GPU, none of this costs anything. One thread.
 */
public final class GpuPairSorter {
  /** Of a task without a GPU. */
  public static final GpuPairSorter NONE = new GpuPairSorter(null, null);

  private static final long POLL_MILLIS = 100;

  /** Null for none. */
  private final ExecutorGpu gpu;
  private final TaskContext context;

  private GpuPairSorter(ExecutorGpu gpu, TaskContext context) {
    this.gpu = gpu;
    this.context = context;
  }

  /** @param gpu that of the task's executor */
  public static GpuPairSorter of(Optional<ExecutorGpu> gpu, TaskContext context) {
    return gpu.map(some -> new GpuPairSorter(some, context)).orElse(NONE);
  }

  /**
   * Sorts pairs by some bytes of the numbers, as unsigned numbers; pairs that are equal in these bytes stay in order.
   * So the result is that of any stable sort. The pairs stay as they are, the sorted ones go to other memory. Stops
   * when the task is killed. A driver that does not return does not hold up the task, once the GPU was given up.
   *
   * @param base of both offsets: an array of longs; null for addresses
   * @param source offset of the pairs
   * @param target offset of as much room
   * @param low the lowest byte of the numbers by which they are sorted; 0 is the lowest of all
   * @param high the highest
   * @return false if they were not sorted; the target's content means nothing then
   */
  public boolean sort(Object base, long source, long target, int count, int low, int high) {
    if (!mayTake(count) || base != null && !(base instanceof long[])) {
      return false;
    }
    context.killTaskIfInterrupted();
    try (PairSort sort = gpu.trySort(PairRange.of(base, source, target, count, low, high))) {
      return sort != null && await(sort);
    }
  }

  /** Most sorts are of few pairs: these do not ask. */
  private boolean mayTake(int count) {
    return gpu != null && PairRange.bytes(count) >= gpu.leastBytes();
  }

  private boolean await(PairSort sort) {
    while (!sort.isDone()) {
      sort.waitFor(POLL_MILLIS, context);
      context.killTaskIfInterrupted();
      if (!sort.isDone() && gpu.isLost()) {
        // Whatever still holds up its thread: the memory is the task's when the sort was closed.
        return false;
      }
    }
    gpu.count();
    return sort.isSorted();
  }

  /**
   * Tells how long the task took to sort pairs that {@link #sort} has not sorted; arguments as there. By that it is
   * known for which sorts the GPU pays.
   */
  public void sortedByTask(int count, int low, int high, long nanos) {
    if (mayTake(count)) {
      gpu.pairsSortedByTask(new PairRange(null, 0, 0, count, low, high), nanos);
    }
  }
}
