package io.sluice.spark.read;

import java.lang.ref.Reference;
import java.lang.ref.WeakReference;
import java.util.Arrays;
import java.util.function.BooleanSupplier;
import org.apache.spark.TaskContext;
import org.apache.spark.scheduler.Task;

/**
 * Whether the calling thread is inside of Spark's run of a task, so that it has ended its work before the task's
 * completion listeners run: Spark calls them on the same thread, when the body of {@code Task.run} has returned or
 * thrown. Any other thread that pulls the task's rows may still be at work then.
 *
 * <p>With Sluice's plugin Spark says on each task's thread when the task begins. Without it, or if the thread began
 * another one, {@code Task.run} is looked for among the callers, which costs tens of microseconds, once for each thread
 * that asks. Used by one thread at a time.
 */
public final class InsideTask implements BooleanSupplier {
  private static final String TASK = Task.class.getName();
  /** The last task that began on this thread: ended or not, no other thread runs it. Held weakly: the thread stays. */
  private static final ThreadLocal<Reference<TaskContext>> BEGUN = new ThreadLocal<>();

  private final TaskContext context;
  private Thread known;
  private boolean inside;

  InsideTask(TaskContext context) {
    this.context = context;
  }

  /** To be called on the task's own thread, within {@code Task.run}. */
  public static void taskStarted(TaskContext context) {
    BEGUN.set(new WeakReference<>(context));
  }

  @Override
  public boolean getAsBoolean() {
    Thread caller = Thread.currentThread();
    if (caller != known) {
      inside = beganHere() || runsThisTask() && Arrays.stream(caller.getStackTrace()).anyMatch(InsideTask::isTaskRun);
      known = caller;
    }
    return inside;
  }

  private boolean beganHere() {
    Reference<TaskContext> begun = BEGUN.get();
    return begun != null && begun.get() == context;
  }

  /** Threads that are not the task's may have its context too, but none has another task's. */
  private boolean runsThisTask() {
    TaskContext current = TaskContext.get();
    return current != null && current.taskAttemptId() == context.taskAttemptId();
  }

  private static boolean isTaskRun(StackTraceElement frame) {
    return frame.getClassName().equals(TASK) && frame.getMethodName().equals("run");
  }
}
