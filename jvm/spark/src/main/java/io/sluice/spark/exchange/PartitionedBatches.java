package io.sluice.spark.exchange;

import io.sluice.spark.columnar.BatchPartitions;
import io.sluice.spark.columnar.BatchToRows;
import io.sluice.spark.columnar.ColumnPath;
import io.sluice.spark.columnar.NativeRanges;
import io.sluice.spark.columnar.OpenBatch;
import io.sluice.spark.columnar.VectorExport;
import io.sluice.spark.compat.RangeBounds;
import io.sluice.spark.compat.UsedBatches;
import io.sluice.spark.decode.ReadMemory;
import java.io.IOException;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.unsafe.Platform;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Function1;
import scala.Product2;
import scala.collection.Iterator;

/**
 * The batches of one task of an exchange, for the writer of its shuffle. The native core copies the rows and finds
 * their partitions.
 *
 * <p>Whenever the columns of a batch come into arrays by a combination of ways that is new in the task, some of its
 * rows are also made by Spark's code and given to Spark's function: if a row or a partition differs, all rows of this
 * and the following batches go that way, with a warning. One thread.
 */
public final class PartitionedBatches implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(PartitionedBatches.class);
  /** Of a batch, in {@link #COMPARED_PLACES} places; a batch that has no more is compared as a whole. */
  private static final int COMPARED_ROWS = 64;
  private static final int COMPARED_PLACES = 4;
  /** For the rows of a place; more of them would be long ones, of which fewer are compared then. */
  private static final long COMPARED_BYTES = 64 << 10;
  /** So many combinations are remembered. Each batch of another one is compared. */
  private static final int MOST_PROVEN = 256;
  /** After so many batches in turn that could not be taken, no other one of the task is tried. */
  static final int MOST_REFUSED = 16;

  private final Iterator<ColumnarBatch> batches;
  private final BatchDivision division;
  /** Null unless rows are divided by ranges. */
  private final NativeRanges ranges;
  private final Function1<InternalRow, ?> function;
  private final ReadMemory memory;
  private final UnsafeRow comparedRow;
  /** The combinations whose rows were Spark's. */
  private final Set<List<ColumnPath>> proven = new HashSet<>();
  /** Null before the first batch, as the one below. */
  private VectorExport export;
  private BatchToRows rows;
  private boolean refuted;
  private int refusedInTurn;
  private long taken;
  private long copied;
  private long asked;

  /**
   * @param function Spark's: the pair of partition and row
   * @param memory for what is copied
   */
  PartitionedBatches(Iterator<ColumnarBatch> batches, BatchDivision division, Function1<InternalRow, ?> function,
      ReadMemory memory) {
    this(batches, division, null, function, memory);
  }

  private PartitionedBatches(Iterator<ColumnarBatch> batches, BatchDivision division, NativeRanges ranges,
      Function1<InternalRow, ?> function, ReadMemory memory) {
    this.batches = batches;
    this.division = division;
    this.ranges = ranges;
    this.function = function;
    this.memory = memory;
    this.comparedRow = new UnsafeRow(division.schema().size());
  }

  /**
   * The batches of {@code rows}; null where a row was asked for before, or they are divided by ranges whose bounds are
   * not known.
   *
   * @param function Spark's: the pair of partition and row
   * @param memory for what is copied
   */
  static PartitionedBatches take(
      BatchedRows rows, BatchDivision division, Function1<InternalRow, ?> function, ReadMemory memory) {
    if (division.ranges() == null) {
      Iterator<ColumnarBatch> batches = rows.takeBatches();
      return batches == null ? null : new PartitionedBatches(batches, division, function, memory);
    }
    NativeRanges ranges =
        NativeRanges.open(division.ranges(), RangeBounds.of(RangeBounds.capturedBy(function)));
    if (ranges == null) {
      LOG.info("The bounds of a range exchange are not known; its rows are written from rows");
      return null;
    }
    Iterator<ColumnarBatch> batches = null;
    try {
      batches = rows.takeBatches();
      return batches == null ? null : new PartitionedBatches(batches, division, ranges, function, memory);
    } finally {
      if (batches == null) {
        ranges.close();
      }
    }
  }

  /** Gives the rows of the next batch to {@code sink}; false when there is none. */
  public boolean writeNext(BatchToRows.Sink sink) throws IOException {
    if (!batches.hasNext()) {
      return false;
    }
    ColumnarBatch batch = batches.next();
    if (rows == null) {
      export = new VectorExport(division.schema(), memory);
      rows = BatchToRows.byNativeCore(division.schema(), new Partitions(), division.types(), export, memory);
    }
    boolean tried = isTried() && batch.numRows() > 0;
    long copiedBefore = copied;
    rows.write(batch, sink);
    taken += batch.numRows();
    if (tried) {
      noteTry(copied > copiedBefore);
    }
    UsedBatches.close(batch);
    return true;
  }

  /** After so many failures the next tries would only cost time, and their copies memory. */
  private void noteTry(boolean succeeded) {
    refusedInTurn = succeeded ? 0 : refusedInTurn + 1;
    if (isTried()) {
      return;
    }
    export.freeCopies();
    if (!refuted) {
      LOG.info("{} batches of columns in turn could not be taken, for want of memory or because of their values; "
          + "Spark's code makes the other rows of this task one by one", refusedInTurn);
    }
  }

  private boolean isTried() {
    return !refuted && refusedInTurn < MOST_REFUSED;
  }

  /** Rows of all batches so far. */
  long taken() {
    return taken;
  }

  /** How many of them the native core copied. */
  long copied() {
    return copied;
  }

  /** How many were given to Spark's function. */
  long asked() {
    return asked;
  }

  /** Whether Spark's function disagreed. */
  boolean refuted() {
    return refuted;
  }

  private final class Partitions implements BatchPartitions {
    @Override
    public long[] numbers() {
      return isTried() ? ranges != null ? ranges.numbers() : division.numbers() : null;
    }

    @Override
    public boolean accepts(OpenBatch batch) {
      if (!isProven(batch)) {
        return false;
      }
      copied += batch.rows();
      return true;
    }

    @Override
    public int partition(UnsafeRow row) {
      asked++;
      return (Integer) pair(row)._1();
    }
  }

  private Product2<?, ?> pair(UnsafeRow row) {
    return (Product2<?, ?>) function.apply(row);
  }

  /** Compares rows of the batch unless those of another one with its combination of ways were compared. */
  private boolean isProven(OpenBatch batch) {
    List<ColumnPath> paths = export.paths();
    if (proven.contains(paths)) {
      return true;
    }
    ReadMemory.Piece page = memory.tryTake(Math.max(COMPARED_BYTES, batch.rowBytes(0) + Long.BYTES));
    if (page == null) {
      return false;
    }
    long askedBefore = asked;
    try {
      compare(batch, page);
    } finally {
      page.free();
    }
    if (refuted) {
      // All rows of this batch are asked for now, the compared ones once more.
      asked = askedBefore;
      return false;
    }
    if (proven.size() < MOST_PROVEN) {
      proven.add(paths);
    }
    return true;
  }

  /** The first rows, the last ones, and some between, because nulls, for one, may be anywhere. */
  private void compare(OpenBatch batch, ReadMemory.Piece page) {
    int count = batch.rows();
    if (count <= COMPARED_ROWS) {
      compare(batch, 0, count, page);
      return;
    }
    int each = COMPARED_ROWS / COMPARED_PLACES;
    for (int place = 0; place < COMPARED_PLACES && !refuted; place++) {
      compare(batch, (int) ((long) (count - each) * place / (COMPARED_PLACES - 1)), each, page);
    }
  }

  /** Copies rows to a page of their own, and looks whether they are Spark's. */
  private void compare(OpenBatch batch, int first, int most, ReadMemory.Piece page) {
    long[] filled = new long[2];
    int count = Math.min(most, batch.toPage(first, page.address(), page.bytes(), filled));
    long end = page.address() + page.bytes();
    for (int i = 0; i < count && !refuted; i++) {
      long entry = Platform.getLong(null, end - Long.BYTES * (i + 1L));
      long start = entry & 0xFFFF_FFFFL;
      long next = i + 1 < filled[1] ? Platform.getLong(null, end - Long.BYTES * (i + 2L)) & 0xFFFF_FFFFL : filled[0];
      comparedRow.pointTo(null, page.address() + start, (int) (next - start));
      check((int) (entry >>> Integer.SIZE), batch.row(first + i));
    }
  }

  /** @param row as Spark's code makes it */
  private void check(int partition, UnsafeRow row) {
    asked++;
    int sparks = (Integer) pair(row)._1();
    if (sparks == partition && row.equals(comparedRow)) {
      return;
    }
    refuted = true;
    LOG.warn("A row of a batch of columns differs from Spark's, which is in partition {} and not {}: {} of {}; from "
        + "now on Spark's code makes all rows of this task. Please report this with the query's plan", sparks,
        partition, row.equals(comparedRow) ? "only the partition" : "the row", division.schema().simpleString());
  }

  @Override
  public void close() {
    try (ranges) {
      if (rows != null) {
        rows.close();
      }
    }
  }
}
