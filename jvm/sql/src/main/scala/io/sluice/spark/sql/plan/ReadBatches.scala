package io.sluice.spark.sql.plan

import io.sluice.spark.columnar.BatchTypes
import io.sluice.spark.policy.SessionSettings
import org.apache.spark.sql.execution.adaptive.{AQEShuffleReadExec, ShuffleQueryStageExec}
import org.apache.spark.sql.execution.exchange.{ReusedExchangeExec, ShuffleExchangeExec}
import org.apache.spark.sql.execution.{RowToColumnarExec, SparkPlan}
import org.apache.spark.sql.internal.SQLConf

/**
 * Puts [[SluiceBatchesExec]] in the place of the node by which Spark makes batches of columns of an exchange's rows for
 * a columnar node above, where all columns have types that Sluice decodes to columns.
 */
final class ReadBatches extends PlanRule {
  // Off-heap vectors, which the user asks for, are Spark's.
  override protected def isWanted: Boolean =
    SessionSettings.findsPartitions() && SessionSettings.takesBatches() && !SQLConf.get.offHeapColumnVectorEnabled

  override protected def change(plan: SparkPlan): SparkPlan = plan.transformUp {
    case transition: RowToColumnarExec
      if transition.getClass == classOf[RowToColumnarExec] && isExchange(transition.child) && hasTypes(transition) =>
      new SluiceBatchesExec(transition.child)
  }

  private def isExchange(plan: SparkPlan): Boolean = plan match {
    case read: AQEShuffleReadExec => isExchange(read.child)
    case stage: ShuffleQueryStageExec => isExchange(stage.plan)
    case reused: ReusedExchangeExec => isExchange(reused.child)
    case exchange: ShuffleExchangeExec => exchange.getClass == classOf[ShuffleExchangeExec]
    case _ => false
  }

  private def hasTypes(plan: SparkPlan): Boolean = plan.output.nonEmpty && BatchTypes.of(plan.schema).isPresent
}
