package io.sluice.spark.decode;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import org.apache.spark.TaskContext;
import org.apache.spark.util.TaskCompletionListener;

/**
 * The {@link ReadAheadLimit} of each task of an executor, one for all readers of the task. What all tasks have in
 * flight together is bounded too: it is memory of their accounts. Any thread.
 */
public final class ReadAheadLimits {
  private final long bytesOfTask;
  private final LongAdder inFlight = new LongAdder();
  private final Map<Long, ReadAheadLimit> tasks = new ConcurrentHashMap<>();

  /** @param bytesOfTask the limit of each task */
  public ReadAheadLimits(long bytesOfTask) {
    this.bytesOfTask = bytesOfTask;
  }

  /** The limit of a task that has not ended. */
  public ReadAheadLimit of(TaskContext context) {
    ReadAheadLimit known = tasks.get(context.taskAttemptId());
    if (known != null) {
      return known;
    }
    ReadAheadLimit fresh = new ReadAheadLimit(bytesOfTask, inFlight);
    ReadAheadLimit other = tasks.putIfAbsent(context.taskAttemptId(), fresh);
    if (other != null) {
      return other;
    }
    context.addTaskCompletionListener((TaskCompletionListener) ended -> tasks.remove(ended.taskAttemptId()));
    return fresh;
  }

  /** What all tasks have in flight. */
  public long usedBytes() {
    return inFlight.sum();
  }

  /** How many tasks have a limit. */
  int tasks() {
    return tasks.size();
  }
}
