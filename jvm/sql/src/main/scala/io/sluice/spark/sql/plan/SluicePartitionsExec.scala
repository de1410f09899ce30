package io.sluice.spark.sql.plan

import io.sluice.spark.exchange.{ExchangeInput, RowPartitioning}
import io.sluice.spark.metrics.{ExchangeMetric, ExchangeMetrics}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.NamedExpression
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.execution.{ProjectExec, SparkPlan}

/**
 * The input of an exchange, whose rows are the child's; Sluice's shuffle writer asks it for their partitions. Shown as
 * `SluicePartitions`. It is a projection that changes nothing, and equals its child in canonical form, so that
 * exchanges are reused as without it. Its metrics are what Sluice did for the exchange, in the tasks that wrote and
 * read the shuffle.
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

  override protected def doExecute(): RDD[InternalRow] = new ExchangeInput(child.execute(), partitioning, exchange)
}
