package io.sluice.spark.sql.plan

import io.sluice.spark.SluiceShuffleManager
import java.util.concurrent.ConcurrentHashMap
import org.apache.spark.SparkEnv
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.SparkPlan
import org.slf4j.LoggerFactory
import scala.util.control.NonFatal

/** A rule that leaves the plan as it is when it cannot change it, and warns of that once. */
abstract class PlanRule extends Rule[SparkPlan] {
  final override def apply(plan: SparkPlan): SparkPlan =
    try {
      if (managerIsSluices && isWanted) change(plan) else plan
    } catch {
      case NonFatal(e) => unchanged(plan, e)
      // A Spark whose plan nodes are other ones: Sluice's cannot be loaded.
      case e: LinkageError => unchanged(plan, e)
    }

  /** Whether the session that makes the plan wants this rule. */
  protected def isWanted: Boolean

  protected def change(plan: SparkPlan): SparkPlan

  /**
   * Counts, and logs, that a node of a plan stays as Spark made it.
   *
   * @param count  counts it, with its reason
   * @param what   the beginning of the sentence for the log
   * @param reason completes "because …"
   */
  protected final def leave(count: (SluiceShuffleManager, String) => Unit, what: String, reason: String): Unit = {
    SparkEnv.get.shuffleManager match {
      case manager: SluiceShuffleManager => count(manager, reason)
      case _ =>
    }
    val message = s"$what, because $reason"
    val log = LoggerFactory.getLogger(getClass)
    if (PlanRule.said.add(message)) {
      log.info(s"$message (said once; later plans like it at debug level)")
    } else {
      log.debug(message)
    }
  }

  /** The manager is asked for in the application's settings: a session's need not have them all. */
  private def managerIsSluices: Boolean =
    SparkEnv.get.conf.get("spark.shuffle.manager", "sort") == classOf[SluiceShuffleManager].getName

  private def unchanged(plan: SparkPlan, e: Throwable): SparkPlan = {
    if (PlanRule.failed.add(getClass)) {
      LoggerFactory.getLogger(getClass)
        .warn("Sluice's nodes are not in this plan, because Spark's could not be replaced; said once", e)
    }
    plan
  }
}

object PlanRule {
  /** Rules that have warned. */
  private val failed: java.util.Set[Class[_]] = ConcurrentHashMap.newKeySet[Class[_]]()

  /** What was logged of nodes that were left. */
  private val said: java.util.Set[String] = ConcurrentHashMap.newKeySet[String]()

  /** A reason to leave a node. */
  private[plan] val MergeLimit =
    "spark.unsafe.sorter.spill.merge.factor limits how many sorted runs are merged at once, which Sluice does not"
}
