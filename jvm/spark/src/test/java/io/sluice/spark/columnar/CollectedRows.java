package io.sluice.spark.columnar;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;

/** Keeps the rows of batches: their bytes and partitions, and how they came. */
public final class CollectedRows implements BatchToRows.Sink {
  private static final long PAGE_BYTES = 128 << 10;

  private final List<UnsafeRow> rows = new ArrayList<>();
  private final List<Integer> partitions = new ArrayList<>();
  private int fromBatches;

  @Override
  public void append(int partition, UnsafeRow row) {
    rows.add(row.copy());
    partitions.add(partition);
  }

  @Override
  public void append(OpenBatch batch) {
    long page = Platform.allocateMemory(PAGE_BYTES);
    try {
      int first = 0;
      while (first < batch.rows()) {
        long[] filled = new long[2];
        int copied = batch.toPage(first, page, PAGE_BYTES, filled);
        assertTrue(copied > 0, "a row of " + batch.rowBytes(first) + " bytes does not fit the page");
        for (int i = 0; i < copied; i++) {
          long end = i + 1 < copied ? entry(page, i + 1) & 0xFFFF_FFFFL : filled[0];
          long start = entry(page, i) & 0xFFFF_FFFFL;
          UnsafeRow row = new UnsafeRow(batch.fields());
          row.pointTo(null, page + start, (int) (end - start));
          append((int) (entry(page, i) >>> Integer.SIZE), row);
        }
        first += copied;
        fromBatches += copied;
      }
    } finally {
      Platform.freeMemory(page);
    }
  }

  private static long entry(long page, int index) {
    return Platform.getLong(null, page + PAGE_BYTES - Long.BYTES * (index + 1L));
  }

  public List<UnsafeRow> rows() {
    return rows;
  }

  public List<Integer> partitions() {
    return partitions;
  }

  /** How many were copied by the native core. */
  public int fromBatches() {
    return fromBatches;
  }
}
