package io.sluice.spark.sql.plan

import io.sluice.spark.exchange.BatchedRows
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.vectorized.ColumnarBatch
import org.apache.spark.{OneToOneDependency, Partition, Partitioner, TaskContext}

/**
 * Rows, and the batches of columns that have the same rows. A task computes the rows, or, if its shuffle writer asks
 * for them before the first row, the batches; so a task that needs rows has those of Spark's generated code.
 *
 * @param rowCount   where Spark counts the rows that it makes of batches; null if it does not
 * @param batchCount where it counts the batches; null if it does not
 */
private[plan] final class RowsOrBatches(
    rows: RDD[InternalRow],
    batches: RDD[ColumnarBatch],
    rowCount: SQLMetric,
    batchCount: SQLMetric)
  extends RDD[InternalRow](
    rows.sparkContext, Seq(new OneToOneDependency(rows), new OneToOneDependency(batches))) {

  override protected def getPartitions: Array[Partition] = {
    val ofRows = rows.partitions
    val ofBatches = batches.partitions
    require(ofRows.length == ofBatches.length, s"${ofRows.length} partitions of rows, ${ofBatches.length} of batches")
    Array.tabulate[Partition](ofRows.length)(i => new RowsOrBatchesPartition(i, ofRows(i), ofBatches(i)))
  }

  override val partitioner: Option[Partitioner] = rows.partitioner

  override def compute(split: Partition, context: TaskContext): Iterator[InternalRow] = {
    val both = split.asInstanceOf[RowsOrBatchesPartition]
    new BatchedRows(
      () => rows.iterator(both.ofRows, context), () => batches.iterator(both.ofBatches, context), rowCount, batchCount)
  }
}

private final class RowsOrBatchesPartition(override val index: Int, val ofRows: Partition, val ofBatches: Partition)
  extends Partition
