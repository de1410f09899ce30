package io.sluice.spark.sql.plan

import io.sluice.spark.SluiceShuffleManager
import java.util.concurrent.atomic.AtomicBoolean
import org.apache.spark.SparkEnv
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, ReturnAnswer}
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.slf4j.LoggerFactory
import scala.util.control.NonFatal

/**
 * Plans nothing: a planner's strategies are the last that Spark asks before the rules of physical plans, Comet's among
 * them, and are asked again when adaptive execution plans anew. Comet's rules then put Comet's exchanges into the plan.
 */
final class CometExchanges extends SparkStrategy {
  /** A whole query, and each of its subqueries, comes as an answer to return, before its parts. */
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = {
    plan match {
      case _: ReturnAnswer => prepareSession()
      case _ =>
    }
    Nil
  }

  /** Commands are planned here too: with a setting's bad value the one that corrects it must pass. */
  private def prepareSession(): Unit =
    try {
      Option(SparkEnv.get).map(_.shuffleManager).foreach {
        case manager: SluiceShuffleManager => manager.prepareSession()
        case _ =>
      }
    } catch {
      case NonFatal(e) => leave(e)
      case e: LinkageError => leave(e)
    }

  private def leave(e: Throwable): Unit =
    if (CometExchanges.warned.compareAndSet(false, true)) {
      LoggerFactory.getLogger(getClass).warn("Comet's exchanges stay as they are in this session; said once", e)
    }
}

private object CometExchanges {
  val warned = new AtomicBoolean()
}
