package io.sluice.spark.sql.plan

import io.sluice.spark.exchange.{ExchangeInput, RowPartitioning}
import io.sluice.spark.metrics.{ExchangeMetric, ExchangeMetrics}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.NamedExpression
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.execution.{ColumnarToRowExec, ProjectExec, SparkPlan, WholeStageCodegenExec}

/**
 * The input of an exchange, whose rows are the child's; Sluice's shuffle writer asks it for their partitions. Shown as
 * `SluicePartitions`. It is a projection that changes nothing, and equals its child in canonical form, so that
 * exchanges are reused as without it. Where the child makes rows of batches of columns, or gives both, the writer may
 * take the batches instead: the child stays in the plan, but its rows are not computed then. Its metrics are what
 * Sluice did for the exchange, in the tasks that wrote and read the shuffle.
 *
 * @param columns the child's output. `ProjectExec`'s parameters come first, because Spark copies nodes through the
 *                constructor
 */
class SluicePartitionsExec(columns: Seq[NamedExpression], input: SparkPlan, partitioning: RowPartitioning)
  extends ProjectExec(columns, input) {

  override def nodeName: String = "SluicePartitions"

  /**
   * Takes the tags of the exchange above it, which rules of other extensions may ask each node for, and inherits the
   * child's logical operator.
   */
  private[plan] def withTagsOf(exchange: SparkPlan): SluicePartitionsExec = {
    copyTagsFrom(exchange)
    unsetTagValue(SparkPlan.LOGICAL_PLAN_TAG)
    child.logicalLink.foreach(operator => setTagValue(SparkPlan.LOGICAL_PLAN_INHERITED_TAG, operator))
    this
  }

  /** Made when the plan is shown or run. Tasks get them with the shuffle's handle, and not with this node. */
  @transient private lazy val exchange: ExchangeMetrics = ExchangeMetrics.create(sparkContext)

  @transient override lazy val metrics: Map[String, SQLMetric] =
    ExchangeMetric.values.map(metric => metric.id -> exchange.get(metric)).toMap

  /** What the constructor takes beside `ProjectExec`'s parameters. */
  override protected def otherCopyArgs: Seq[AnyRef] = Seq(partitioning)

  /** Rows come from an iterator, which generated code would hide from the exchange. */
  override def supportCodegen: Boolean = false

  override def canEqual(other: Any): Boolean = other.isInstanceOf[SluicePartitionsExec]

  override def equals(other: Any): Boolean = other.isInstanceOf[SluicePartitionsExec] && super.equals(other)

  override def hashCode(): Int = super.hashCode()

  override protected def doCanonicalize(): SparkPlan = child.canonicalized

  override protected def withNewChildInternal(newChild: SparkPlan): ProjectExec =
    new SluicePartitionsExec(projectList, newChild, partitioning)

  override protected def doExecute(): RDD[InternalRow] = {
    val rows = child.execute()
    val input = if (partitioning.takesBatches) {
      SluicePartitionsExec.batches(child).map(below => rowsOrBatches(rows, below)).getOrElse(rows)
    } else {
      rows
    }
    new ExchangeInput(input, partitioning, exchange)
  }

  private def rowsOrBatches(rows: RDD[InternalRow], below: SparkPlan): RDD[InternalRow] =
    new RowsOrBatches(rows, below.executeColumnar(), counts("numOutputRows"), counts("numInputBatches"))

  /** A metric of the node that makes rows of batches; null where there is no such node. */
  private def counts(metric: String): SQLMetric =
    SluicePartitionsExec.transition(child).map(_.longMetric(metric)).orNull
}

private[plan] object SluicePartitionsExec {
  /** The node whose batches are the rows of `child`: below the one that makes rows of them, or one that gives both. */
  def batches(child: SparkPlan): Option[SparkPlan] =
    transition(child).map(_.child).orElse(Some(child).filter(_.supportsColumnar))

  /** The node that makes rows of batches, if the child is one, in generated code or not. */
  private def transition(child: SparkPlan): Option[ColumnarToRowExec] = (child match {
    case WholeStageCodegenExec(generated) => generated
    case other => other
  }) match {
    case found: ColumnarToRowExec if found.getClass == classOf[ColumnarToRowExec] => Some(found)
    case _ => None
  }
}
