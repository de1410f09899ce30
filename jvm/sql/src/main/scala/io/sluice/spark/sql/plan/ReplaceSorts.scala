package io.sluice.spark.sql.plan

import io.sluice.spark.SluiceShuffleManager
import io.sluice.spark.policy.SessionSettings
import java.util.concurrent.atomic.AtomicBoolean
import org.apache.spark.SparkEnv
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{SortExec, SparkPlan}
import org.slf4j.LoggerFactory
import scala.util.control.NonFatal

/**
 * Puts [[SluiceSortExec]] in the place of Spark's `SortExec` where it can sort by the keys. Runs after all rules that
 * look for sorts, and before the generation of code: `ColumnarRule.postColumnarTransitions`. Sorts of other
 * extensions, those of other subclasses included, stay.
 */
final class ReplaceSorts extends Rule[SparkPlan] {
  override def apply(plan: SparkPlan): SparkPlan =
    try {
      if (enabled) plan.transformUp { case sort: SortExec if replaceable(sort) => replacement(sort) } else plan
    } catch {
      case NonFatal(e) => unchanged(plan, e)
      // A Spark whose SortExec is another one: the node cannot be loaded.
      case e: LinkageError => unchanged(plan, e)
    }

  /** The manager is asked for in the application's settings: a session's need not have them all. */
  private def enabled: Boolean =
    SparkEnv.get.conf.get("spark.shuffle.manager", "sort") == classOf[SluiceShuffleManager].getName &&
      SessionSettings.sortsRows()

  private def replaceable(sort: SortExec): Boolean =
    sort.getClass == classOf[SortExec] && sort.testSpillFrequency == 0 && sort.child.supportsRowBased &&
      SluiceSortExec.rowOrder(sort.sortOrder, sort.child.output).isDefined

  /** `transformUp` copies the tags. */
  private def replacement(sort: SortExec): SparkPlan =
    new SluiceSortExec(sort.sortOrder, sort.global, sort.child, sort.testSpillFrequency)

  private def unchanged(plan: SparkPlan, e: Throwable): SparkPlan = {
    if (ReplaceSorts.failed.compareAndSet(false, true)) {
      LoggerFactory.getLogger(classOf[ReplaceSorts])
        .warn("Spark's own sorts stay in this plan, because they could not be replaced; said once", e)
    }
    plan
  }
}

object ReplaceSorts {
  private val failed = new AtomicBoolean()
}
