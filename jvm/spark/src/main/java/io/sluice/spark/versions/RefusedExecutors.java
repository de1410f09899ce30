package io.sluice.spark.versions;

import java.util.HashSet;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerExecutorAdded;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.apache.spark.scheduler.SparkListenerJobEnd;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * On the driver: the executors that were refused because their Sluice is another one, or because they have none. Each
 * is named in a warning and counted. While other executors work, jobs go on. When three have been refused and no other
 * is there, jobs that run are cancelled with the sentence of the last: they would wait for executors that come only to
 * be refused. Any thread.
 */
public final class RefusedExecutors extends SparkListener {
  private static final Logger LOG = LoggerFactory.getLogger(RefusedExecutors.class);
  /** The first may have been started by a machine that is just being changed. */
  private static final int BEFORE_JOBS_ARE_CANCELLED = 3;

  private final Jobs jobs;
  private final Runnable count;
  private final Set<String> entryClasses;
  private final Set<String> refused = new HashSet<>();
  private final Set<String> registered = new HashSet<>();
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
    this(context::cancelJob, count, entryClasses);
  }

  RefusedExecutors(Jobs jobs, Runnable count, Set<String> entryClasses) {
    this.jobs = jobs;
    this.count = count;
    this.entryClasses = entryClasses;
  }

  /** An executor has sent that it is refused. */
  public synchronized void refused(Refusal refusal) {
    if (!refused.add(refusal.executorId())) {
      return;
    }
    LOG.warn("{}", refusal.sentence());
    count.run();
    if (refused.size() >= BEFORE_JOBS_ARE_CANCELLED && refused.containsAll(registered)) {
      running.forEach(job -> jobs.cancel(job, "because no executor is left. " + refusal.sentence()));
      running.clear();
    }
  }

  @Override
  public synchronized void onExecutorAdded(SparkListenerExecutorAdded event) {
    registered.add(event.executorId());
  }

  /** From Spark 4 on, an executor without the jar registers, and then ends because it cannot find its classes. */
  @Override
  public synchronized void onExecutorRemoved(SparkListenerExecutorRemoved event) {
    registered.remove(event.executorId());
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
