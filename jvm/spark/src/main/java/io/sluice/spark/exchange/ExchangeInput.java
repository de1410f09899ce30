package io.sluice.spark.exchange;

import io.sluice.spark.compat.SparkLine;
import io.sluice.spark.metrics.ExchangeMetrics;
import io.sluice.spark.sql.BinaryRowSorter;
import java.io.IOException;
import org.apache.spark.Partition;
import org.apache.spark.Partitioner;
import org.apache.spark.TaskContext;
import org.apache.spark.rdd.MapPartitionsRDD;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import scala.Function1;
import scala.Option;
import scala.collection.Iterator;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/**
 * The rows that an exchange shuffles: those of its child, in partitions and an order that are the child's.
 *
 * <p>Before a round robin Spark sorts a task's rows, so that a task that runs again gives each row the same partition;
 * it does so by {@link #mapPartitionsInternal}, which nobody else calls on this RDD then. Here that gives the same
 * order, sorted by {@link BinaryRowSorter}.
 */
public final class ExchangeInput extends RDD<InternalRow> {
  private static final long serialVersionUID = 1;
  private static final ClassTag<InternalRow> ROWS = ClassTag$.MODULE$.apply(InternalRow.class);

  private final RowPartitioning partitioning;
  private final boolean sorted;
  /** On the driver, from where the shuffle's handle takes them to the tasks; null there, and for none. */
  private final transient ExchangeMetrics metrics;

  /** @param rows of the exchange's child */
  public ExchangeInput(RDD<InternalRow> rows, RowPartitioning partitioning) {
    this(rows, partitioning, null);
  }

  /**
   * @param rows of the exchange's child
   * @param metrics of the exchange's node in the plan; null for none
   */
  public ExchangeInput(RDD<InternalRow> rows, RowPartitioning partitioning, ExchangeMetrics metrics) {
    this(rows, partitioning, metrics, false);
  }

  private ExchangeInput(
      RDD<InternalRow> rows, RowPartitioning partitioning, ExchangeMetrics metrics, boolean sorted) {
    super(rows, ROWS);
    this.partitioning = partitioning;
    this.metrics = metrics;
    this.sorted = sorted;
  }

  /**
   * The metrics of the exchange that shuffles {@code pairs}; null if it has none. Called on the driver.
   *
   * @param pairs of partition and row, which Spark's exchange makes of its input by one mapping function
   */
  public static ExchangeMetrics metricsOf(RDD<?> pairs) {
    RDD<?> input = pairs instanceof MapPartitionsRDD ? pairs.firstParent(ROWS) : null;
    return input instanceof ExchangeInput ? ((ExchangeInput) input).metrics : null;
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
  public Iterator<InternalRow> compute(Partition split, TaskContext context) {
    Iterator<InternalRow> rows = parent().iterator(split, context);
    PartitionFinder finder = partitioning.newFinder();
    return new ExchangeRows(sorted ? sort(rows) : rows, finder, partitioning.batches());
  }

  private Iterator<? extends InternalRow> sort(Iterator<InternalRow> rows) {
    try {
      return BinaryRowSorter.create(partitioning.sortedBy(), false).sort(rows);
    } catch (IOException e) {
      // As Spark's sorter does: the exception itself.
      throw SparkLine.unchecked(e);
    }
  }

  private RDD<InternalRow> parent() {
    return firstParent(ROWS);
  }

  @Override
  @SuppressWarnings("unchecked") // The function is Spark's sort, from rows to rows.
  public <U> RDD<U> mapPartitionsInternal(Function1<Iterator<InternalRow>, Iterator<U>> function,
      boolean preservesPartitioning, ClassTag<U> type) {
    if (partitioning.sortedBy() == null || sorted) {
      return super.mapPartitionsInternal(function, preservesPartitioning, type);
    }
    return (RDD<U>) new ExchangeInput(parent(), partitioning, metrics, true);
  }
}
