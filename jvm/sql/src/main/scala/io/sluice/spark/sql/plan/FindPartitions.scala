package io.sluice.spark.sql.plan

import io.sluice.spark.exchange.{HashColumn, RowPartitioning}
import io.sluice.spark.policy.SessionSettings
import io.sluice.spark.sql.{BinaryOrder, BinaryRowSorter}
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.plans.physical.{HashPartitioning, RangePartitioning, RoundRobinPartitioning}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec
import org.apache.spark.sql.internal.SQLConf

/**
 * Puts [[SluicePartitionsExec]] below Spark's `ShuffleExchangeExec` where Sluice can find the partitions of its rows:
 * by the hash of columns, by ranges of columns, round robin. Exchanges of other extensions stay as they are.
 */
final class FindPartitions extends PlanRule {
  override protected def isWanted: Boolean = SessionSettings.findsPartitions()

  override protected def change(plan: SparkPlan): SparkPlan =
    plan.transformUp { case exchange: ShuffleExchangeExec if exchange.getClass == classOf[ShuffleExchangeExec] =>
      withPartitions(exchange)
    }

  private def withPartitions(exchange: ShuffleExchangeExec): SparkPlan = exchange.child match {
    case _: SluicePartitionsExec => exchange
    case child if !child.supportsRowBased => exchange
    case child => partitioning(exchange, child.output) match {
      case Some(partitioning) =>
        exchange.withNewChildren(Seq(new SluicePartitionsExec(child.output, child, partitioning)))
      case None => exchange
    }
  }

  private def partitioning(exchange: ShuffleExchangeExec, columns: Seq[Attribute]): Option[RowPartitioning] =
    exchange.outputPartitioning match {
      case HashPartitioning(keys, partitions) => hash(keys, columns, partitions)
      case RangePartitioning(keys, _) =>
        SortKeys.ofRanges(keys, columns).map(found => RowPartitioning.range(found.order, found))
      case RoundRobinPartitioning(partitions)
          if partitions > 1 && SQLConf.get.sortBeforeRepartition && !BinaryRowSorter.isMergeLimited =>
        Some(RowPartitioning.roundRobin(new BinaryOrder(columns.length), partitions))
      case _ => None
    }

  private def hash(keys: Seq[Expression], columns: Seq[Attribute], partitions: Int): Option[RowPartitioning] = {
    val found = new java.util.ArrayList[HashColumn](keys.length)
    keys.foreach(key => hashColumn(key, columns).foreach(column => found.add(column)))
    if (found.size == keys.length) Some(RowPartitioning.hash(found, columns.length, partitions)) else None
  }

  private def hashColumn(key: Expression, columns: Seq[Attribute]): Option[HashColumn] =
    KeyColumn.of(key, columns).flatMap { found =>
      val column = HashColumn.of(found.storedType, found.keyType, found.ordinal, found.nullable)
      if (column.isPresent) Some(column.get) else None
    }
}
