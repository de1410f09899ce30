package io.sluice.spark.sql.plan

import io.sluice.spark.policy.SessionSettings
import io.sluice.spark.sql.BinaryRowSorter
import org.apache.spark.sql.execution.{SortExec, SparkPlan}

/**
 * Puts [[SluiceSortExec]] in the place of Spark's `SortExec` where it can sort by the keys. Sorts of other extensions,
 * those of other subclasses included, stay.
 */
final class ReplaceSorts extends PlanRule {
  override protected def isWanted: Boolean = SessionSettings.sortsRows()

  override protected def change(plan: SparkPlan): SparkPlan =
    plan.transformUp { case sort: SortExec if isSparks(sort) =>
      obstacle(sort) match {
        case Some(reason) =>
          leave(_.countSortLeft(_), "A sort in a plan stays Spark's", reason)
          sort
        case None => replacement(sort)
      }
    }

  private def isSparks(sort: SortExec): Boolean =
    sort.getClass == classOf[SortExec] && sort.testSpillFrequency == 0 && sort.child.supportsRowBased

  /** Why Spark must sort: completes "because …". */
  private def obstacle(sort: SortExec): Option[String] =
    if (BinaryRowSorter.isMergeLimited) {
      Some(PlanRule.MergeLimit)
    } else if (SortKeys.of(sort.sortOrder, sort.child.output).isEmpty) {
      Some("only Spark knows the order of a key, or when to compute it")
    } else {
      None
    }

  /** `transformUp` copies the tags. */
  private def replacement(sort: SortExec): SparkPlan =
    new SluiceSortExec(sort.sortOrder, sort.global, sort.child, sort.testSpillFrequency)
}
