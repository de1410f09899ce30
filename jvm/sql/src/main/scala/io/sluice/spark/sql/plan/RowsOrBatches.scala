package io.sluice.spark.sql.plan

import io.sluice.spark.exchange.BatchedRows
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.vectorized.ColumnarBatch
import org.apache.spark.{Dependency, OneToOneDependency, Partition, Partitioner, TaskContext}

/**
 * Rows, and the batches of columns that have the same rows. A task computes the rows, or, if its shuffle writer asks
 * for them before the first row, the batches; so a task that needs rows has those of Spark's generated code.
 *
 * Both must be of the same splits: some tasks of a shuffle may take rows and others batches, and a plan that divides
 * its input anew each time it is asked would have them read some of it twice and some not at all. Otherwise there are
 * only rows.
 *
 * @param rowCount   where Spark counts the rows that it makes of batches; null if it does not
 * @param batchCount where it counts the batches; null if it does not
 */
private[plan] final class RowsOrBatches(
    rows: RDD[InternalRow],
    batches: RDD[ColumnarBatch],
    rowCount: SQLMetric,
    batchCount: SQLMetric)
  extends RDD[InternalRow](rows.sparkContext, Nil) {

  @transient private lazy val ofSameSplits = rows.partitions.sameElements(batches.partitions)

  override protected def getDependencies: Seq[Dependency[_]] =
    new OneToOneDependency(rows) +: (if (ofSameSplits) Seq(new OneToOneDependency(batches)) else Nil)

  override protected def getPartitions: Array[Partition] =
    rows.partitions.map(ofRows => new RowsOrBatchesPartition(ofRows, ofSameSplits))

  override val partitioner: Option[Partitioner] = rows.partitioner

  override def compute(split: Partition, context: TaskContext): Iterator[InternalRow] = {
    val part = split.asInstanceOf[RowsOrBatchesPartition]
    if (part.hasBatches) {
      new BatchedRows(
        () => rows.iterator(part.input, context), () => batches.iterator(part.input, context), rowCount, batchCount)
    } else {
      rows.iterator(part.input, context)
    }
  }
}

/** @param input of the rows, and of the batches if there are any */
private final class RowsOrBatchesPartition(val input: Partition, val hasBatches: Boolean) extends Partition {
  override def index: Int = input.index
}
