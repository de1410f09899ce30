package io.sluice.spark.exchange;

import io.sluice.spark.columnar.HeapBatches;
import io.sluice.spark.decode.MappedRows;
import org.apache.spark.Partition;
import org.apache.spark.Partitioner;
import org.apache.spark.TaskContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import scala.Option;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/**
 * The rows of an exchange as batches of columns: those of frames where Sluice's reader gives them, else batches that
 * are made of the rows, as where the shuffle is Spark's. A batch is valid until the next one is asked for.
 */
public final class ExchangeBatches extends RDD<ColumnarBatch> {
  private static final long serialVersionUID = 1;
  private static final ClassTag<InternalRow> ROWS = ClassTag$.MODULE$.apply(InternalRow.class);
  private static final ClassTag<ColumnarBatch> BATCHES = ClassTag$.MODULE$.apply(ColumnarBatch.class);

  private final StructType schema;
  private final int mostRows;
  private final SQLMetric rowCount;
  private final SQLMetric batchCount;

  /**
   * @param shuffled the exchange's RDD, whose rows are those of a shuffle reader
   * @param mostRows of a batch
   * @param rowCount to which the rows of the batches are added
   * @param batchCount to which the batches are
   */
  public ExchangeBatches(
      RDD<InternalRow> shuffled, StructType schema, int mostRows, SQLMetric rowCount, SQLMetric batchCount) {
    super(shuffled, BATCHES);
    this.schema = schema;
    this.mostRows = mostRows;
    this.rowCount = rowCount;
    this.batchCount = batchCount;
  }

  @Override
  public Partition[] getPartitions() {
    return parent().partitions();
  }

  @Override
  public Option<Partitioner> partitioner() {
    return parent().partitioner();
  }

  @Override
  public Iterator<ColumnarBatch> compute(Partition split, TaskContext context) {
    Iterator<InternalRow> rows = parent().iterator(split, context);
    Iterator<ColumnarBatch> ofFrames =
        rows instanceof MappedRows<InternalRow> ours ? ours.takeBatches(schema, mostRows) : null;
    return counted(ofFrames == null ? madeOf(rows) : ofFrames);
  }

  private Iterator<ColumnarBatch> madeOf(Iterator<InternalRow> rows) {
    HeapBatches heap = new HeapBatches(schema, mostRows);
    java.util.Iterator<InternalRow> input = new java.util.Iterator<>() {
      @Override
      public boolean hasNext() {
        return rows.hasNext();
      }

      @Override
      public InternalRow next() {
        return rows.next();
      }
    };
    return new AbstractIterator<>() {
      @Override
      public boolean hasNext() {
        return rows.hasNext();
      }

      @Override
      public ColumnarBatch next() {
        return heap.next(input);
      }
    };
  }

  private Iterator<ColumnarBatch> counted(Iterator<ColumnarBatch> batches) {
    return new AbstractIterator<>() {
      @Override
      public boolean hasNext() {
        return batches.hasNext();
      }

      @Override
      public ColumnarBatch next() {
        ColumnarBatch batch = batches.next();
        rowCount.add(batch.numRows());
        batchCount.add(1);
        return batch;
      }
    };
  }

  private RDD<InternalRow> parent() {
    return firstParent(ROWS);
  }
}
