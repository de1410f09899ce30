package io.sluice.spark.cleanup;

import io.sluice.spark.compat.SkippedMigration;
import java.util.Set;
import java.util.function.IntConsumer;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * On the driver: the shuffles of SQL executions that have ended and that, as the session wants, executors do not move
 * when they are decommissioned ({@link SkippedMigration}). Those of executions that have failed are moved: asking for
 * the plan of one could make it again. Used by the thread of one listener queue.
 */
public final class UnmovedShuffles extends SparkListener {
  private static final Logger LOG = LoggerFactory.getLogger(UnmovedShuffles.class);

  private final IntConsumer found;
  private boolean warned;

  /** @param found gets the id of each shuffle */
  public UnmovedShuffles(IntConsumer found) {
    this.found = found;
  }

  @Override
  public void onOtherEvent(SparkListenerEvent event) {
    if (event instanceof SparkListenerSQLExecutionEnd end && end.qe() != null && end.executionFailure().isEmpty()) {
      String action = end.executionName().isDefined() ? end.executionName().get() : "";
      if (!EndedExecutions.ACTIONS_READ_LATER.contains(action)) {
        ended(end);
      }
    }
  }

  private void ended(SparkListenerSQLExecutionEnd end) {
    try {
      if (SkippedMigration.isWanted(end.qe())) {
        PlanShuffles.of(end.qe().executedPlan(), Set.of()).forEach(found::accept);
      }
    } catch (Exception | LinkageError e) {
      if (!warned) {
        LOG.warn("The shuffles of SQL execution {} are moved when executors are decommissioned, although the session "
            + "does not want it (said once)", end.executionId(), e);
        warned = true;
      }
    }
  }
}
