package io.sluice.spark.cleanup;

import io.sluice.spark.conf.SqlCleanup;
import java.util.Set;
import java.util.function.Supplier;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.scheduler.SparkListenerTaskStart;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * On the driver: finds the shuffles of a SQL execution that has ended, and has those removed that the session wants
 * removed: of plans that nobody can run again ({@link OneTimePlans}), or of all. Used by the thread of one listener
 * queue.
 */
public final class EndedExecutions extends SparkListener {
  private static final Logger LOG = LoggerFactory.getLogger(EndedExecutions.class);
  /** Actions whose result reads the shuffles after the execution has ended. */
  static final Set<String> ACTIONS_READ_LATER = Set.of("toLocalIterator", "checkpoint", "localCheckpoint");

  private final Supplier<SqlShuffles> shuffles;
  private final OutputRemoval removal;
  private long lastTaskId = -1;
  private boolean warned;

  /**
   * @param shuffles what sessions want of the shuffles that they have registered; null before there can be any
   * @param removal removes a shuffle on the driver and on all executors
   */
  public EndedExecutions(Supplier<SqlShuffles> shuffles, OutputRemoval removal) {
    this.shuffles = shuffles;
    this.removal = removal;
  }

  /** Ids of tasks, which are the map ids, grow; the tasks of an execution have started before its end in this queue. */
  @Override
  public void onTaskStart(SparkListenerTaskStart started) {
    lastTaskId = Math.max(lastTaskId, started.taskInfo().taskId());
  }

  @Override
  public void onOtherEvent(SparkListenerEvent event) {
    if (event instanceof SparkListenerSQLExecutionEnd end && end.qe() != null) {
      SqlShuffles known = shuffles.get();
      // Most applications want none removed: then plans are not looked at.
      if (known == null || known.isEmpty()) {
        return;
      }
      Set<Integer> made = known.endExecution(end.executionId());
      // After a failure it may be that no plan could be made; asking would make it again, and that may run commands
      // again. An execution that has registered a shuffle has a plan.
      if (end.executionFailure().isEmpty() || !made.isEmpty()) {
        ended(end, known, made);
      }
    }
  }

  private void ended(SparkListenerSQLExecutionEnd end, SqlShuffles known, Set<Integer> made) {
    try {
      remove(end.executionName().isDefined() ? end.executionName().get() : "", end.qe(), known, made);
    } catch (Exception | LinkageError e) {
      if (!warned) {
        LOG.warn("The shuffles of SQL execution {} stay until Spark's cleaner removes them (said once)",
            end.executionId(), e);
        warned = true;
      }
    }
  }

  private void remove(String action, QueryExecution execution, SqlShuffles known, Set<Integer> made) {
    boolean oneTime = OneTimePlans.isOneTime(action, execution);
    boolean readLater = ACTIONS_READ_LATER.contains(action);
    for (int shuffleId : PlanShuffles.of(execution.executedPlan(), made)) {
      SqlCleanup cleanup = known.wanted(shuffleId);
      if (cleanup == SqlCleanup.ALL && !readLater || cleanup == SqlCleanup.UNREFERENCED && oneTime) {
        removal.remove(shuffleId, lastTaskId);
      }
    }
  }
}
