package io.sluice.spark.write;

import io.sluice.nativebridge.Lease;
import io.sluice.spark.columnar.OpenBatch;
import org.apache.spark.unsafe.Platform;

/**
 * One page being filled with rows by a task's thread.
 *
 * <pre>
 *   address                                                          address + capacity
 *   | row 0 | row 1 | … | row n-1 |→      free      ←| entry n-1 | … | entry 1 | entry 0 |
 * </pre>
 *
 * Rows are multiples of 8 bytes without gaps; an entry is 8 bytes: the row's offset in the low half, its
 * partition in the high half. The native core reads this layout ({@code NativeCore.writerEncode}).
 */
final class PageWriter {
  static final int ENTRY_BYTES = 8;
  private static final int PARTITION_SHIFT = 32;
  private static final long OFFSET_MASK = (1L << PARTITION_SHIFT) - 1;

  private final Lease lease;
  private final long start;
  private final long end;
  private long rowsEnd;
  private long entriesStart;

  /** Takes the lease for reading its address only; freeing it stays with the batch that the page is in. */
  PageWriter(Lease lease) {
    this.lease = lease;
    this.start = lease.address();
    this.end = start + lease.bytes();
    this.rowsEnd = start;
    this.entriesStart = end;
  }

  /** The page size that {@code rowBytes} and its entry need, for rows larger than a normal page. */
  static long bytesFor(long rowBytes) {
    return rowBytes + ENTRY_BYTES;
  }

  /**
   * Copies a row and notes its partition.
   *
   * @param base object that holds the row, or null when {@code offset} is an address
   * @param bytes length, a multiple of 8
   * @return false, with nothing changed, when the page has no room
   */
  boolean append(int partition, Object base, long offset, int bytes) {
    long row = rowsEnd;
    long entry = entriesStart - ENTRY_BYTES;
    if (row + bytes > entry) {
      return false;
    }
    Platform.copyMemory(base, offset, null, row, bytes);
    Platform.putLong(null, entry, (long) partition << PARTITION_SHIFT | (row - start));
    rowsEnd = row + bytes;
    entriesStart = entry;
    return true;
  }

  /**
   * Copies rows of a batch, as many as there is room for.
   *
   * @param first the first row that is not copied yet
   * @param sizes is told the partition and the bytes of each row
   * @return how many rows were copied
   */
  int append(OpenBatch batch, int first, RowSizes sizes) {
    long[] filled = {rowBytes(), records()};
    int before = records();
    int copied = batch.toPage(first, start, end - start, filled);
    long row = rowsEnd;
    rowsEnd = start + filled[0];
    entriesStart = end - ENTRY_BYTES * filled[1];
    for (int i = before; i < before + copied; i++) {
      boolean last = i + 1 == before + copied;
      long next = last ? rowsEnd : start + offsetOf(entry(i + 1));
      sizes.add(partitionOf(entry(i)), (int) (next - row));
      row = next;
    }
    return copied;
  }

  private long entry(int index) {
    return Platform.getLong(null, end - (long) ENTRY_BYTES * (index + 1));
  }

  /** Is told of rows. */
  interface RowSizes {
    void add(int partition, int rowBytes);
  }

  /** The partition in an entry. */
  static int partitionOf(long entry) {
    return (int) (entry >>> PARTITION_SHIFT);
  }

  /** The offset of the row from the page's start in an entry. */
  static long offsetOf(long entry) {
    return entry & OFFSET_MASK;
  }

  Lease lease() {
    return lease;
  }

  long rowBytes() {
    return rowsEnd - start;
  }

  int records() {
    return (int) ((end - entriesStart) / ENTRY_BYTES);
  }

  /** Writes the four longs that describe the page to the native core. */
  void describe(long[] target, int index) {
    target[index] = start;
    target[index + 1] = end - start;
    target[index + 2] = rowBytes();
    target[index + 3] = records();
  }
}
