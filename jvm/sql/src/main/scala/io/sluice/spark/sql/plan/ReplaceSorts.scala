package io.sluice.spark.sql.plan

import io.sluice.spark.policy.SessionSettings
import io.sluice.spark.sql.BinaryRowSorter
import org.apache.spark.sql.execution.{SortExec, SparkPlan}

/**
 * Puts [[SluiceSortExec]] in the place of Spark's `SortExec` where it can sort by the keys. Sorts of other extensions,
 * those of other subclasses included, stay.
 */
final class ReplaceSorts extends PlanRule {
  override protected def isWanted: Boolean = SessionSettings.sortsRows() && !BinaryRowSorter.isMergeLimited

  override protected def change(plan: SparkPlan): SparkPlan =
    plan.transformUp { case sort: SortExec if replaceable(sort) => replacement(sort) }

  private def replaceable(sort: SortExec): Boolean =
    sort.getClass == classOf[SortExec] && sort.testSpillFrequency == 0 && sort.child.supportsRowBased &&
      SortKeys.of(sort.sortOrder, sort.child.output).isDefined

  /** `transformUp` copies the tags. */
  private def replacement(sort: SortExec): SparkPlan =
    new SluiceSortExec(sort.sortOrder, sort.global, sort.child, sort.testSpillFrequency)
}
