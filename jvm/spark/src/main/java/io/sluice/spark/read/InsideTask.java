package io.sluice.spark.read;

import java.util.Arrays;
import java.util.function.BooleanSupplier;
import org.apache.spark.TaskContext;
import org.apache.spark.scheduler.Task;

/**
 * Whether the calling thread is inside of Spark's run of a task, so that it has ended its work before the task's
 * completion listeners run: Spark calls them on the same thread, when the body of {@code Task.run} has returned or
 * thrown. Any other thread that pulls the task's rows may still be at work then.
 *
 * <p>It looks for {@code Task.run} among the callers, once for each thread that asks. Used by one thread at a time.
 */
final class InsideTask implements BooleanSupplier {
  private static final String TASK = Task.class.getName();

  private final long taskAttemptId;
  private Thread known;
  private boolean inside;

  InsideTask(TaskContext context) {
    this.taskAttemptId = context.taskAttemptId();
  }

  @Override
  public boolean getAsBoolean() {
    Thread caller = Thread.currentThread();
    if (caller != known) {
      inside = runsThisTask() && Arrays.stream(caller.getStackTrace()).anyMatch(InsideTask::isTaskRun);
      known = caller;
    }
    return inside;
  }

  /** Threads that are not the task's may have its context too, but none has another task's. */
  private boolean runsThisTask() {
    TaskContext current = TaskContext.get();
    return current != null && current.taskAttemptId() == taskAttemptId;
  }

  private static boolean isTaskRun(StackTraceElement frame) {
    return frame.getClassName().equals(TASK) && frame.getMethodName().equals("run");
  }
}
