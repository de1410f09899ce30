package io.sluice.bench.soak;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.scheduler.SparkListenerTaskStart;
import scala.collection.Iterator;

/**
 * The driver's part of {@link JobFaults}: while it runs a program, it looks for their files, deletes them and does what
 * their names say.
 */
final class JobWishes {

  private static final long LOOK_MS = 5_000;
  private static final long POLL_MS = 20;
  /** In this time a second job has begun. */
  private static final long BEGIN_MS = 500;

  private JobWishes() {}

  /** What looks for the files in the driver until it is closed. */
  interface Obeying extends AutoCloseable {
    @Override
    void close();
  }

  /**
   * The driver's part: looks for the files in {@code folder}.
   *
   * @param again runs the program once more, to have two jobs at a time
   */
  static Obeying obey(SparkContext context, Path folder, Runnable again) {
    RunningTasks running = new RunningTasks();
    context.addSparkListener(running);
    Thread thread = new Thread(() -> {
      try {
        while (true) {
          for (JobFaults.Wish wish : JobFaults.Wish.values()) {
            Path file = folder.resolve(wish.file());
            if (Files.exists(file) && possible(wish, context, running) && Files.deleteIfExists(file)) {
              obey(wish, context, running, again);
            }
          }
          Thread.sleep(POLL_MS);
        }
      } catch (InterruptedException | IOException | IllegalStateException e) {
        // The program has ended, or the application with its folder.
        return;
      }
    }, "soak-jobs");
    thread.setDaemon(true);
    thread.start();
    return () -> {
      thread.interrupt();
      try {
        // It must not harm the next program's jobs.
        thread.join(2 * LOOK_MS);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
      context.removeSparkListener(running);
    };
  }

  /** Whether there is something that it could be done to. */
  private static boolean possible(JobFaults.Wish wish, SparkContext context, RunningTasks running) {
    return switch (wish) {
      case CANCEL_JOBS, CANCEL_TWO_JOBS -> context.statusTracker().getActiveJobIds().length > 0;
      case CANCEL_STAGES -> context.statusTracker().getActiveStageIds().length > 0;
      case KILL_TASKS -> !running.ids.isEmpty();
      case FORGET_OUTPUTS -> shuffles(context).hasNext();
    };
  }

  private static void obey(JobFaults.Wish wish, SparkContext context, RunningTasks running, Runnable again)
      throws InterruptedException {
    switch (wish) {
      case CANCEL_JOBS -> context.cancelAllJobs();
      case CANCEL_STAGES -> {
        for (int stage : context.statusTracker().getActiveStageIds()) {
          context.cancelStage(stage);
        }
      }
      case CANCEL_TWO_JOBS -> cancelTwo(context, again);
      case KILL_TASKS -> running.kill(context);
      case FORGET_OUTPUTS -> forgetOutputs(context);
    }
  }

  /** Begins the program a second time, and cancels both. */
  private static void cancelTwo(SparkContext context, Runnable again) throws InterruptedException {
    Thread second = new Thread(() -> {
      try {
        again.run();
      } catch (Exception e) {
        // Spark throws a checked one, which Scala does not declare. It was cancelled; its result is nobody's.
        return;
      }
    }, "soak-second");
    second.setDaemon(true);
    second.start();
    long begun = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(BEGIN_MS);
    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(LOOK_MS);
    // The first program may be over before the second has ended, which must not run beside the next one.
    boolean over = false;
    while (second.isAlive() && System.nanoTime() < end) {
      if (over || System.nanoTime() > begun) {
        context.cancelAllJobs();
      }
      try {
        second.join(POLL_MS);
      } catch (InterruptedException e) {
        over = true;
      }
    }
    if (over) {
      throw new InterruptedException("the program is over");
    }
  }

  /** Of all shuffles: tasks that ask for them fail, and the stages that made them run again. */
  private static void forgetOutputs(SparkContext context) {
    MapOutputTrackerMaster tracker = (MapOutputTrackerMaster) context.env().mapOutputTracker();
    Iterator<Object> shuffles = shuffles(context);
    while (shuffles.hasNext()) {
      Integer shuffle = (Integer) shuffles.next();
      try {
        tracker.unregisterAllMapAndMergeOutput(shuffle);
      } catch (Exception e) {
        // Spark's own, checked but not declared: the shuffle was removed meanwhile.
        continue;
      }
    }
  }

  private static Iterator<Object> shuffles(SparkContext context) {
    return ((MapOutputTrackerMaster) context.env().mapOutputTracker()).shuffleStatuses().keysIterator();
  }

  /** The attempts of tasks that run now. */
  private static final class RunningTasks extends SparkListener {
    private final Set<Long> ids = ConcurrentHashMap.newKeySet();

    @Override
    public void onTaskStart(SparkListenerTaskStart event) {
      ids.add(event.taskInfo().taskId());
    }

    @Override
    public void onTaskEnd(SparkListenerTaskEnd event) {
      ids.remove(event.taskInfo().taskId());
    }

    /** Spark begins each of them again. */
    void kill(SparkContext context) {
      for (long id : ids) {
        context.killTaskAttempt(id, true, "soak");
      }
    }
  }
}
