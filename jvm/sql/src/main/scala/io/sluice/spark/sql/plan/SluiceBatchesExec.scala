package io.sluice.spark.sql.plan

import io.sluice.spark.exchange.ExchangeBatches
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.execution.{RowToColumnarExec, ShuffledRowRDD, SparkPlan}
import org.apache.spark.sql.vectorized.ColumnarBatch

/**
 * The batches of columns that a columnar node takes from an exchange of rows, its child: those that Sluice decodes from
 * frames, instead of rows of which Spark makes batches. Shown as `SluiceBatches`. It stands for Spark's node and counts
 * as that does; in canonical form it is that node, so that exchanges above it are reused as without Sluice.
 */
class SluiceBatchesExec(exchange: SparkPlan) extends RowToColumnarExec(exchange) {
  override def nodeName: String = "SluiceBatches"

  override def canEqual(other: Any): Boolean = other.isInstanceOf[SluiceBatchesExec]

  override def equals(other: Any): Boolean = other.isInstanceOf[SluiceBatchesExec] && super.equals(other)

  override def hashCode(): Int = super.hashCode()

  override protected def doCanonicalize(): SparkPlan = RowToColumnarExec(child.canonicalized)

  override protected def withNewChildInternal(newChild: SparkPlan): RowToColumnarExec = new SluiceBatchesExec(newChild)

  override def doExecuteColumnar(): RDD[ColumnarBatch] = {
    val rows = child.execute()
    // Another extension may have put a node between, whose rows are not a shuffle reader's.
    if (rows.getClass == classOf[ShuffledRowRDD]) {
      new ExchangeBatches(
        rows, schema, conf.columnBatchSize, longMetric("numInputRows"), longMetric("numOutputBatches"))
    } else {
      super.doExecuteColumnar()
    }
  }
}
