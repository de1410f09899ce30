package io.sluice.spark.exchange;

import io.sluice.spark.columnar.BatchPartitions;
import io.sluice.spark.columnar.BatchToRows;
import io.sluice.spark.columnar.OpenBatch;
import io.sluice.spark.columnar.VectorExport;
import io.sluice.spark.compat.UsedBatches;
import io.sluice.spark.decode.ReadMemory;
import java.io.IOException;
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
 * their partitions. The first rows are also made by Spark's code and given to Spark's function: if a row or a partition
 * differs, all rows of the task go that way, with a warning. One thread.
 */
public final class PartitionedBatches implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(PartitionedBatches.class);
  private static final int COMPARED_ROWS = 64;
  /** For the rows that are compared; more of them would be long ones, of which fewer are compared then. */
  private static final long COMPARED_BYTES = 64 << 10;

  private final Iterator<ColumnarBatch> batches;
  private final BatchDivision division;
  private final Function1<InternalRow, ?> function;
  private final ReadMemory memory;
  private final UnsafeRow comparedRow;
  /** Null before the first batch. */
  private BatchToRows rows;
  private boolean compared;
  private boolean refuted;
  private long taken;
  private long copied;
  private long asked;

  /**
   * @param function Spark's: the pair of partition and row
   * @param memory for what is copied
   */
  PartitionedBatches(Iterator<ColumnarBatch> batches, BatchDivision division, Function1<InternalRow, ?> function,
      ReadMemory memory) {
    this.batches = batches;
    this.division = division;
    this.function = function;
    this.memory = memory;
    this.comparedRow = new UnsafeRow(division.schema().size());
  }

  /** Gives the rows of the next batch to {@code sink}; false when there is none. */
  public boolean writeNext(BatchToRows.Sink sink) throws IOException {
    if (!batches.hasNext()) {
      return false;
    }
    ColumnarBatch batch = batches.next();
    if (rows == null) {
      rows = BatchToRows.byNativeCore(
          division.schema(), new Partitions(), division.types(), new VectorExport(division.schema(), memory), memory);
    }
    rows.write(batch, sink);
    taken += batch.numRows();
    UsedBatches.close(batch);
    return true;
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
      return refuted ? null : division.numbers();
    }

    @Override
    public boolean accepts(OpenBatch batch) {
      if (!compared) {
        compare(batch);
      }
      if (refuted) {
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

  /** Copies the first rows to a page of their own, and looks whether they are Spark's. */
  private void compare(OpenBatch batch) {
    ReadMemory.Piece page = memory.tryTake(COMPARED_BYTES);
    if (page == null) {
      return;
    }
    try {
      long[] filled = new long[2];
      int count = Math.min(COMPARED_ROWS, batch.toPage(0, page.address(), page.bytes(), filled));
      long end = page.address() + page.bytes();
      for (int i = 0; i < count && !refuted; i++) {
        long entry = Platform.getLong(null, end - Long.BYTES * (i + 1L));
        long start = entry & 0xFFFF_FFFFL;
        long next = i + 1 < filled[1] ? Platform.getLong(null, end - Long.BYTES * (i + 2L)) & 0xFFFF_FFFFL : filled[0];
        comparedRow.pointTo(null, page.address() + start, (int) (next - start));
        check((int) (entry >>> Integer.SIZE), batch.row(i));
      }
      compared = count > 0;
    } finally {
      page.free();
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
    // All are asked for now, these once more.
    asked = 0;
    LOG.warn("A row of a batch of columns differs from Spark's, which is in partition {} and not {}: {} of {}; from "
        + "now on Spark's code makes all rows of this task. Please report this with the query's plan", sparks,
        partition, row.equals(comparedRow) ? "only the partition" : "the row", division.schema().simpleString());
  }

  @Override
  public void close() {
    if (rows != null) {
      rows.close();
    }
  }
}
