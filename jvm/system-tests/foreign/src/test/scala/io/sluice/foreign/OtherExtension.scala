package io.sluice.foreign

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.SortOrder
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.{ColumnarRule, SortExec, SparkPlan}
import org.apache.spark.sql.execution.exchange.{ShuffleExchangeExec, ShuffleOrigin}
import org.apache.spark.sql.internal.SQLConf

/** An extension of somebody else that replaces Spark's sorts and exchanges, as far as the session's settings say so. */
final class OtherExtension extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit =
    extensions.injectColumnar(_ => new OtherExtension.Rules)
}

object OtherExtension {
  /** The phase in which sorts or exchanges are replaced: [[before]] or [[after]] Spark has inserted transitions. */
  val sorts = "other.sorts"
  val exchanges = "other.exchanges"
  val before = "before"
  val after = "after"
  /** Whether each node gets a [[tag]] before Spark has inserted transitions. */
  val tags = "other.tags"
  val tag = TreeNodeTag[String]("other")

  private final class Rules extends ColumnarRule {
    override def preColumnarTransitions: Rule[SparkPlan] = new Replace(before)

    override def postColumnarTransitions: Rule[SparkPlan] = new Replace(after)
  }

  private final class Replace(phase: String) extends Rule[SparkPlan] {
    override def apply(plan: SparkPlan): SparkPlan = {
      if (phase == before && SQLConf.get.getConfString(tags, "false").toBoolean) {
        plan.foreach(_.setTagValue(tag, "seen"))
      }
      replaced(plan)
    }

    private def replaced(plan: SparkPlan): SparkPlan = plan.transformUp {
      case sort: SortExec if sort.getClass == classOf[SortExec] && isIn(sorts) =>
        new OtherSort(sort.sortOrder, sort.global, sort.child, sort.testSpillFrequency)
      case exchange: ShuffleExchangeExec if exchange.getClass == classOf[ShuffleExchangeExec] && isIn(exchanges) =>
        new OtherExchange(
          exchange.outputPartitioning, exchange.child, exchange.shuffleOrigin, exchange.advisoryPartitionSize)
    }

    private def isIn(setting: String): Boolean = SQLConf.get.getConfString(setting, "") == phase
  }
}

/** Sorts as Spark's node does, without generated code. */
final class OtherSort(order: Seq[SortOrder], overAll: Boolean, input: SparkPlan, spillFrequency: Int)
  extends SortExec(order, overAll, input, spillFrequency) {

  override def nodeName: String = "OtherSort"

  override def supportCodegen: Boolean = false

  // Spark keeps a node that equals the one that should take its place.
  override def canEqual(other: Any): Boolean = other.isInstanceOf[OtherSort]

  override def equals(other: Any): Boolean = other.isInstanceOf[OtherSort] && super.equals(other)

  override def hashCode(): Int = super.hashCode()

  override protected def withNewChildInternal(newChild: SparkPlan): SortExec =
    new OtherSort(sortOrder, global, newChild, testSpillFrequency)

  override protected def doExecute(): RDD[InternalRow] = super.doExecute()
}

/** Shuffles as Spark's node does. */
final class OtherExchange(partitioning: Partitioning, input: SparkPlan, origin: ShuffleOrigin, advisory: Option[Long])
  extends ShuffleExchangeExec(partitioning, input, origin, advisory) {

  override def nodeName: String = "OtherExchange"

  override def canEqual(other: Any): Boolean = other.isInstanceOf[OtherExchange]

  override def equals(other: Any): Boolean = other.isInstanceOf[OtherExchange] && super.equals(other)

  override def hashCode(): Int = super.hashCode()

  override protected def withNewChildInternal(newChild: SparkPlan): ShuffleExchangeExec =
    new OtherExchange(outputPartitioning, newChild, shuffleOrigin, advisoryPartitionSize)
}
