package io.sluice.spark.sql.plan

import io.sluice.spark.SluiceShuffleManager
import org.apache.spark.SparkEnv
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, ReturnAnswer}
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}

/**
 * Plans nothing: a planner's strategies are the last that Spark asks before the rules of physical plans, Comet's among
 * them, and are asked again when adaptive execution plans anew. Comet's rules then put Comet's exchanges into the plan.
 */
final class CometExchanges extends SparkStrategy {
  /** A whole query, and each of its subqueries, comes as an answer to return, before its parts. */
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = {
    plan match {
      case _: ReturnAnswer => Option(SparkEnv.get).map(_.shuffleManager).foreach {
        case manager: SluiceShuffleManager => manager.prepareSession()
        case _ =>
      }
      case _ =>
    }
    Nil
  }
}
