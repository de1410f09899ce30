package io.sluice.spark.exchange;

import io.sluice.spark.decode.ReadMemory;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import io.sluice.spark.metrics.ExchangeMetrics;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Function1;
import scala.Product2;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/**
 * The rows of one task of an exchange with the function that Spark maps them with. To anybody else this is an iterator
 * of what the function makes. A writer of the exchange's shuffle, for which that are pairs of partition and row, calls
 * {@link #advance} instead, and then has both without a pair; the function is called only where the finder does not
 * know the partition, and for the first rows, for which both must agree, unless the finder evaluates Spark's own
 * expression. From the first disagreement on only the function is asked.
 *
 * <p>Where the rows lie in batches of columns, the writer may take those instead ({@link #takeBatches}).
 *
 * <p>One thread. Either it is used as an iterator, or by {@code advance}, or its batches are taken, never two of them.
 */
public final class PartitionedRows<T> extends AbstractIterator<T> {
  private static final Logger LOG = LoggerFactory.getLogger(PartitionedRows.class);
  private static final int COMPARED_ROWS = 64;

  private final Iterator<? extends InternalRow> rows;
  private final Function1<InternalRow, T> function;
  /** So many rows are given to the function too. */
  private final int comparedRows;
  /** Null where batches cannot be taken. */
  private final BatchDivision division;
  /** Null unless they were taken. */
  private PartitionedBatches batches;
  /** Null when only the function is asked. */
  private PartitionFinder finder;
  private UnsafeRow row;
  private int partition;
  private long found;
  private long asked;
  private int refuted;

  PartitionedRows(Iterator<? extends InternalRow> rows, Function1<InternalRow, T> function, PartitionFinder finder,
      BatchDivision division) {
    this.division = division;
    this.rows = rows;
    this.function = function;
    this.finder = finder;
    this.comparedRows = finder.isCompared() ? COMPARED_ROWS : 0;
  }

  @Override
  public boolean hasNext() {
    return rows.hasNext();
  }

  @Override
  public T next() {
    return function.apply(rows.next());
  }

  /**
   * The batches of columns that the rows lie in, which the caller closes; no rows are given any more. Null where there
   * are none, a row was asked for before, or the bounds of ranges are not known.
   *
   * @param memory for what is copied
   */
  public PartitionedBatches takeBatches(ReadMemory memory) {
    batches = division != null && rows instanceof BatchedRows input
        ? PartitionedBatches.take(input, division, function, memory) : null;
    return batches;
  }

  /** Goes to the next row; false when there is none. */
  public boolean advance() {
    if (!rows.hasNext()) {
      return false;
    }
    InternalRow next = rows.next();
    PartitionFinder here = finder;
    if (here == null || !(next instanceof UnsafeRow)) {
      ask(next);
      return true;
    }
    row = (UnsafeRow) next;
    int number = here.find(row);
    if (number != PartitionFinder.UNKNOWN && asked + found >= comparedRows) {
      partition = number;
      found++;
    } else {
      ask(next);
      check(here, (UnsafeRow) next, number);
    }
    return true;
  }

  private void ask(InternalRow next) {
    asked++;
    Product2<?, ?> pair = (Product2<?, ?>) function.apply(next);
    partition = (Integer) pair._1();
    row = (UnsafeRow) pair._2();
  }

  /** {@link #ask} was called for the row. */
  private void check(PartitionFinder asking, UnsafeRow given, int number) {
    boolean agrees = (row == given || row.equals(given)) && (number == PartitionFinder.UNKNOWN || number == partition)
        && asking.learn(given, partition);
    if (!agrees) {
      LOG.warn("Spark's function puts a row into partition {}, where {} does not expect it; from now on Spark's "
          + "function finds all partitions of this task. Please report this with the query's plan",
          partition, asking.getClass().getSimpleName());
      refuted++;
      finder = null;
    }
  }

  /** The current row; valid until the next call of {@link #advance}. */
  public UnsafeRow row() {
    return row;
  }

  /** The current row's partition. */
  public int partition() {
    return partition;
  }

  /**
   * Adds what was found and asked to the executor's counters; called once, after the last row.
   *
   * @param exchange the metrics of the exchange's node, to which it is added too; null for none
   */
  public void count(Counters counters, ExchangeMetrics exchange) {
    if (batches != null) {
      asked = Math.min(batches.asked(), batches.taken());
      found = batches.taken() - asked;
      refuted = batches.refuted() ? 1 : 0;
      counters.add(Counter.WRITE_ROWS_OF_BATCHES, batches.copied());
      counters.add(Counter.WRITE_ROWS_PROJECTED, batches.taken() - batches.copied());
    }
    counters.add(Counter.WRITE_PARTITIONS_FOUND, found);
    counters.add(Counter.WRITE_PARTITIONS_ASKED, asked);
    counters.add(Counter.WRITE_PARTITIONS_REFUTED, refuted);
    if (exchange != null) {
      exchange.placed(found, asked, refuted);
    }
  }
}
