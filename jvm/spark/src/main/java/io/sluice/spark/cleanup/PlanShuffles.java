package io.sluice.spark.cleanup;

import io.sluice.spark.compat.PlanNodes;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.sql.execution.ReusedSubqueryExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec;
import org.apache.spark.sql.execution.adaptive.QueryStageExec;
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec;
import org.apache.spark.sql.execution.command.ExecutedCommandExec;
import org.apache.spark.sql.execution.datasources.v2.V2CommandExec;
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import scala.collection.Iterator;

/**
 * The shuffles of a physical plan that has run: those of its exchanges, of subqueries, of adaptive execution's stages,
 * also of stages that it has dropped from the plan. Nodes like limits make shuffles without an exchange; they are known
 * from having been registered during the execution. So are those of cached tables' plans, which others read, and those
 * of RDDs that the code of a command has made and may keep; where a plan reads cached tables, whose scans have no
 * children, or runs a command's code, only the shuffles of exchanges count. One thread only.
 */
public final class PlanShuffles {
  private final Set<SparkPlan> seen = Collections.newSetFromMap(new IdentityHashMap<>());
  private final Set<Integer> shuffleIds = new TreeSet<>();
  private boolean registersOthers;

  private PlanShuffles() {}

  /**
   * Their ids.
   *
   * @param registered the shuffles of SQL rows that were registered while the plan ran
   */
  static Set<Integer> of(SparkPlan plan, Set<Integer> registered) {
    PlanShuffles shuffles = new PlanShuffles();
    shuffles.visit(plan);
    if (!shuffles.registersOthers) {
      shuffles.shuffleIds.addAll(registered);
    }
    return shuffles.shuffleIds;
  }

  /** The ids of those that are in the plan itself. */
  public static Set<Integer> of(SparkPlan plan) {
    return of(plan, Set.of());
  }

  private void visit(SparkPlan node) {
    if (node == null || !seen.add(node)) {
      return;
    }
    if (node instanceof ShuffleExchangeExec exchange) {
      ShuffleDependency<?, ?, ?> shuffle = PlanNodes.shuffleOf(exchange);
      if (shuffle != null) {
        shuffleIds.add(shuffle.shuffleId());
      }
    }
    registersOthers |= node instanceof InMemoryTableScanExec || isCommandsCode(node);
    visitHidden(node);
    PlanNodes.children(node).forEach(this::visit);
    PlanNodes.subqueries(node).forEach(this::visit);
  }

  /** Commands that write a query's rows have the query as their child; others may do anything. */
  private static boolean isCommandsCode(SparkPlan node) {
    return node instanceof ExecutedCommandExec || node instanceof V2CommandExec && PlanNodes.children(node).isEmpty();
  }

  /** The plans that a node refers to otherwise than as its children. */
  private void visitHidden(SparkPlan node) {
    if (node instanceof AdaptiveSparkPlanExec adaptive) {
      visit(adaptive.executedPlan());
      // It may have scans of cached tables that the final plan has not.
      visit(adaptive.inputPlan());
      for (Iterator<?> stages = adaptive.context().stageCache().values().iterator(); stages.hasNext();) {
        visit((SparkPlan) stages.next());
      }
    } else if (node instanceof QueryStageExec stage) {
      visit(stage.plan());
    } else if (node instanceof ReusedExchangeExec reused) {
      visit(reused.child());
    } else if (node instanceof ReusedSubqueryExec reused) {
      visit(reused.child());
    }
  }
}
