package io.sluice.spark.sql.plan

import io.sluice.spark.SluiceShuffleManager
import org.apache.spark.SparkEnv
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, ReturnAnswer}
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.types.{ArrayType, MapType, StructType}

/**
 * Plans nothing: a planner's strategies are the last that Spark asks before the rules of physical plans, Comet's among
 * them, and are asked again when adaptive execution plans anew. Comet's rules then put Comet's exchanges into the plan,
 * unless nested types are in it: Comet's converter, which makes batches of rows, has none.
 */
final class CometExchanges extends SparkStrategy {
  /** A whole query comes as an answer to return, before its parts. */
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = {
    plan match {
      case answer: ReturnAnswer => prepare(answer)
      case _ =>
    }
    Nil
  }

  private def prepare(plan: LogicalPlan): Unit = SparkEnv.get.shuffleManager match {
    case manager: SluiceShuffleManager => manager.prepareSession(plan.find(hasNestedColumn).isEmpty)
    case _ =>
  }

  private def hasNestedColumn(node: LogicalPlan): Boolean = node.output.exists(_.dataType match {
    case _: ArrayType | _: MapType | _: StructType => true
    case _ => false
  })
}
