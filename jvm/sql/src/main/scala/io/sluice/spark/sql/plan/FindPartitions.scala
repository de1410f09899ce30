package io.sluice.spark.sql.plan

import io.sluice.spark.exchange.{HashColumn, RowPartitioning}
import io.sluice.spark.policy.SessionSettings
import io.sluice.spark.sql.{BinaryOrder, BinaryRowSorter}
import org.apache.spark.sql.catalyst.expressions.{Attribute, BindReferences, Expression, PlanExpression, SortOrder}
import org.apache.spark.sql.catalyst.plans.physical._
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec
import org.apache.spark.sql.internal.SQLConf

/**
 * Puts [[SluicePartitionsExec]] below Spark's `ShuffleExchangeExec` where Sluice can find the partitions of its rows:
 * by a hash, by ranges, round robin, all in one. Where the rows are made of batches of columns, it says whether the
 * writer can take the batches. Exchanges of other extensions stay as they are.
 */
final class FindPartitions extends PlanRule {
  /** How the rows are divided, or why only Spark's function can tell: completes "because …". */
  private type Found = Either[String, RowPartitioning]

  override protected def isWanted: Boolean = SessionSettings.findsPartitions()

  override protected def change(plan: SparkPlan): SparkPlan =
    plan.transformUp { case exchange: ShuffleExchangeExec if exchange.getClass == classOf[ShuffleExchangeExec] =>
      withPartitions(exchange)
    }

  private def withPartitions(exchange: ShuffleExchangeExec): SparkPlan = exchange.child match {
    case _: SluicePartitionsExec => exchange
    case child if !child.supportsRowBased => exchange
    // It gives one row a task, so there is nothing to gain.
    case aggregate: BaseAggregateExec if aggregate.groupingExpressions.isEmpty => exchange
    case child => partitioning(exchange.outputPartitioning, child.output) match {
      case Right(found) =>
        val taken = ofBatches(found, child)
        exchange.withNewChildren(Seq(new SluicePartitionsExec(child.output, child, taken).withTagsOf(exchange)))
      case Left(reason) =>
        leave(_.countExchangeLeft(_), "Spark's function finds the partitions of an exchange's rows", reason)
        exchange
    }
  }

  /** Where the child makes rows of batches, or gives both, the writer may take the batches instead. */
  private def ofBatches(found: RowPartitioning, child: SparkPlan): RowPartitioning =
    SluicePartitionsExec.batches(child) match {
      case Some(batches) if SessionSettings.takesBatches() && !FindPartitions.isComets(batches) =>
        found.ofBatches(child.schema)
      case _ => found
    }

  private def partitioning(spark: Partitioning, columns: Seq[Attribute]): Found = spark match {
    case SinglePartition | RoundRobinPartitioning(1) => Right(RowPartitioning.single())
    // Spark computes keys that are not columns, which may fail.
    case HashPartitioning(keys, 1) if keys.forall(KeyColumn.isColumn) => Right(RowPartitioning.single())
    case hash: HashPartitioning =>
      ofColumns(hash.expressions, columns, hash.numPartitions)
        .getOrElse(expression(hash.partitionIdExpression, columns))
    case RangePartitioning(keys, 1) if keys.forall(key => KeyColumn.isColumn(key.child)) =>
      Right(RowPartitioning.single())
    case RangePartitioning(keys, _) => ranges(keys, columns)
    case RoundRobinPartitioning(partitions) => roundRobin(columns, partitions)
    case other if other.getClass.getName == FindPartitions.PassThrough =>
      expression(FindPartitions.partitionIdExpression(other), columns)
    case other => Left(s"its partitioning is ${other.getClass.getSimpleName}")
  }

  /** Empty unless all keys are columns whose hash Sluice computes. */
  private def ofColumns(keys: Seq[Expression], columns: Seq[Attribute], partitions: Int): Option[Found] = {
    val found = new java.util.ArrayList[HashColumn](keys.length)
    keys.foreach(key => hashColumn(key, columns).foreach(column => found.add(column)))
    if (found.size == keys.length) Some(Right(RowPartitioning.hash(found, columns.length, partitions))) else None
  }

  private def hashColumn(key: Expression, columns: Seq[Attribute]): Option[HashColumn] =
    KeyColumn.of(key, columns).flatMap { found =>
      val column = HashColumn.of(found.storedType, found.keyType, found.ordinal, found.nullable)
      if (column.isPresent) Some(column.get) else None
    }

  private def expression(partitionId: Expression, columns: Seq[Attribute]): Found =
    if (!partitionId.deterministic) {
      Left("a key is not deterministic")
    } else if (hasSubquery(partitionId)) {
      Left(FindPartitions.Subquery)
    } else {
      Right(RowPartitioning.expression(BindReferences.bindReference(partitionId, columns)))
    }

  private def ranges(keys: Seq[SortOrder], columns: Seq[Attribute]): Found =
    if (keys.exists(hasSubquery)) {
      Left(FindPartitions.Subquery)
    } else {
      SortKeys.ofRanges(keys, columns).map(found => RowPartitioning.range(found.order, found))
        .toRight("only Spark knows the order of a key")
    }

  /** Spark replaces subqueries in a plan that it has changed, and computes those that are in the plan then. */
  private def hasSubquery(key: Expression): Boolean = key.exists(_.isInstanceOf[PlanExpression[_]])

  private def roundRobin(columns: Seq[Attribute], partitions: Int): Found =
    if (!SQLConf.get.sortBeforeRepartition) {
      Left("spark.sql.execution.sortBeforeRepartition is false")
    } else if (BinaryRowSorter.isMergeLimited) {
      Left(PlanRule.MergeLimit)
    } else {
      Right(RowPartitioning.roundRobin(new BinaryOrder(columns.length), partitions))
    }
}

object FindPartitions {
  /** Rows whose partition is one of their columns; from Spark 4.1 on. */
  private val PassThrough = "org.apache.spark.sql.catalyst.plans.physical.ShufflePartitionIdPassThrough"

  private val Subquery = "a key has a subquery"

  /** Comet's vectors have a way of their own to Sluice; without it their rows are Comet's to make. */
  private def isComets(plan: SparkPlan): Boolean = plan.getClass.getName.startsWith("org.apache.spark.sql.comet.")

  private def partitionIdExpression(passThrough: Partitioning): Expression =
    passThrough.getClass.getMethod("partitionIdExpression").invoke(passThrough).asInstanceOf[Expression]
}
