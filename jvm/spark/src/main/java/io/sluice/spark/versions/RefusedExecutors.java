package io.sluice.spark.versions;

import java.util.HashSet;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.apache.spark.scheduler.SparkListenerJobEnd;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * On the driver: the executors that were refused because their Sluice is another one, or because they have none. Each
 * is named in a warning and counted. While an admitted executor is there, jobs go on. When three have been refused, one
 * after the other, and for a minute no admitted one was there, jobs that run are cancelled with the sentence of the
 * last: each new executor would be refused too. Any thread.
 */
public final class RefusedExecutors extends SparkListener {
  private static final Logger LOG = LoggerFactory.getLogger(RefusedExecutors.class);
  /** The first may have been started by a machine that is just being changed. */
  private static final int BEFORE_JOBS_ARE_CANCELLED = 3;
  /** Machines with the right jar may take longer to start than those with another. */
  private static final long NANOS_BEFORE_JOBS_ARE_CANCELLED = TimeUnit.SECONDS.toNanos(60);

  private final Jobs jobs;
  private final Runnable count;
  private final Set<String> entryClasses;
  private final LongSupplier nanoTime;
  private final Set<String> refused = new HashSet<>();
  /** By their own messages, not the scheduler's events, which may be late or lost; until Spark removes them. */
  private final Set<String> admitted = new HashSet<>();
  /** Since an admitted executor was there. */
  private int inARow;
  private long firstInARow;
  private final Set<Integer> running = new TreeSet<>();

  /** How jobs are cancelled. */
  @FunctionalInterface
  public interface Jobs {
    void cancel(int jobId, String reason);
  }

  /**
   * @param count called once for each refused executor
   * @param entryClasses the classes that settings name, which an executor without Sluice cannot find
   */
  public RefusedExecutors(SparkContext context, Runnable count, Set<String> entryClasses) {
    this(context::cancelJob, count, entryClasses, System::nanoTime);
  }

  RefusedExecutors(Jobs jobs, Runnable count, Set<String> entryClasses, LongSupplier nanoTime) {
    this.jobs = jobs;
    this.count = count;
    this.entryClasses = entryClasses;
    this.nanoTime = nanoTime;
  }

  /** An executor has sent that it takes part. */
  public synchronized void admitted(String executorId) {
    admitted.add(executorId);
    inARow = 0;
  }

  /** An executor has sent that it is refused. */
  public synchronized void refused(Refusal refusal) {
    if (!refused.add(refusal.executorId())) {
      return;
    }
    LOG.warn("{}", refusal.sentence());
    count.run();
    if (!admitted.isEmpty()) {
      return;
    }
    long now = nanoTime.getAsLong();
    firstInARow = inARow == 0 ? now : firstInARow;
    inARow++;
    if (inARow >= BEFORE_JOBS_ARE_CANCELLED && now - firstInARow >= NANOS_BEFORE_JOBS_ARE_CANCELLED) {
      running.forEach(job -> jobs.cancel(job, "because no executor is left. " + refusal.sentence()));
      running.clear();
    }
  }

  /** From Spark 4 on, an executor without the jar registers, and then ends because it cannot find its classes. */
  @Override
  public synchronized void onExecutorRemoved(SparkListenerExecutorRemoved event) {
    admitted.remove(event.executorId());
    String reason = String.valueOf(event.reason());
    if (entryClasses.stream().anyMatch(reason::endsWith)) {
      refused(new Refusal(event.executorId(), "Executor " + event.executorId() + " is refused: it has no Sluice ("
          + reason + "). Put the driver's jar on the class path of all executors (docs/upgrading.md)"));
    }
  }

  @Override
  public synchronized void onJobStart(SparkListenerJobStart event) {
    running.add(event.jobId());
  }

  @Override
  public synchronized void onJobEnd(SparkListenerJobEnd event) {
    running.remove(event.jobId());
  }
}
