package io.sluice.spark.sql.plan

import io.sluice.spark.SluiceShuffleManager
import org.apache.spark.SparkEnv
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}

/**
 * Plans nothing: a planner's strategies are the last that Spark asks before the rules of physical plans, Comet's among
 * them, and are asked again when adaptive execution plans anew. Comet's rules then put Comet's exchanges into the plan.
 */
final class CometExchanges extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = {
    SparkEnv.get.shuffleManager match {
      case manager: SluiceShuffleManager => manager.prepareSession()
      case _ =>
    }
    Nil
  }
}
