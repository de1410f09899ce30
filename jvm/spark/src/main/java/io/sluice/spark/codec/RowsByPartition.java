package io.sluice.spark.codec;

import io.sluice.nativebridge.Arena;
import io.sluice.nativebridge.Lease;

/**
 * The rows of some pages, sorted by partition: rows of one partition stay in the order of the pages and of the entries
 * in them. The pages have the layout that {@code NativeCore.writerEncode} documents. References to the rows, 8 bytes
 * each, are in memory of the arena, until {@link #close}. One thread.
 */
public final class RowsByPartition implements AutoCloseable {
  private static final int LONGS_PER_PAGE = 4;
  private static final int CAPACITY = 1;
  private static final int ROW_BYTES = 2;
  private static final int ENTRIES = 3;
  private static final long LOW_HALF = 0xFFFF_FFFFL;

  private final Lease lease;
  private final MemoryRange references;
  private final MemoryRange[] pages;
  private final long[] rowBytes;
  private final int[] entries;
  /** Of each partition, where its references end; one more for the last. */
  private final int[] ends;

  private RowsByPartition(Lease lease, long[] description, int partitions) {
    this.lease = lease;
    this.references = new MemoryRange(lease.address(), lease.bytes());
    int count = description.length / LONGS_PER_PAGE;
    this.pages = new MemoryRange[count];
    this.rowBytes = new long[count];
    this.entries = new int[count];
    for (int page = 0; page < count; page++) {
      int at = page * LONGS_PER_PAGE;
      pages[page] = new MemoryRange(description[at], description[at + CAPACITY]);
      rowBytes[page] = description[at + ROW_BYTES];
      entries[page] = Math.toIntExact(description[at + ENTRIES]);
    }
    this.ends = new int[partitions];
    sort();
  }

  /**
   * Sorts; null when the arena refuses the memory for it.
   *
   * @param description per page four longs: address, capacity, bytes of rows, number of entries
   */
  public static RowsByPartition of(long[] description, int partitions, Arena arena) {
    long rows = 0;
    for (int at = 0; at < description.length; at += LONGS_PER_PAGE) {
      rows += description[at + ENTRIES];
    }
    Lease lease = arena.tryTake(neededBytes(Math.toIntExact(rows)));
    if (lease == null) {
      return null;
    }
    RowsByPartition sorted = null;
    try {
      sorted = new RowsByPartition(lease, description, partitions);
      return sorted;
    } finally {
      if (sorted == null) {
        lease.close();
      }
    }
  }

  /** Bytes of the arena that so many rows take. */
  public static long neededBytes(long rows) {
    return Long.BYTES * rows;
  }

  private void sort() {
    for (int page = 0; page < pages.length; page++) {
      for (int entry = 0; entry < entries[page]; entry++) {
        ends[partition(page, entry)]++;
      }
    }
    int start = 0;
    for (int partition = 0; partition < ends.length; partition++) {
      int count = ends[partition];
      ends[partition] = start;
      start += count;
    }
    for (int page = 0; page < pages.length; page++) {
      for (int entry = 0; entry < entries[page]; entry++) {
        int place = ends[partition(page, entry)]++;
        references.putNativeLong((long) place * Long.BYTES, (long) page << Integer.SIZE | entry);
      }
    }
  }

  private long entry(int page, int entry) {
    return pages[page].getNativeLong(pages[page].bytes() - (long) Long.BYTES * (entry + 1));
  }

  private int partition(int page, int entry) {
    return (int) (entry(page, entry) >>> Integer.SIZE);
  }

  /** The first row of {@code partition} in this order. */
  int start(int partition) {
    return partition == 0 ? 0 : ends[partition - 1];
  }

  /** The row behind the last one of {@code partition}. */
  int end(int partition) {
    return ends[partition];
  }

  private int page(int row) {
    return (int) (references.getNativeLong((long) row * Long.BYTES) >>> Integer.SIZE);
  }

  private int entryOf(int row) {
    return (int) references.getNativeLong((long) row * Long.BYTES);
  }

  /** Rows lie in a page without gaps, in the order of their entries. */
  int length(int row) {
    int page = page(row);
    int entry = entryOf(row);
    long end = entry + 1 < entries[page] ? entry(page, entry + 1) & LOW_HALF : rowBytes[page];
    return (int) (end - offset(page, entry));
  }

  private long offset(int page, int entry) {
    return entry(page, entry) & LOW_HALF;
  }

  /** Copies a row. */
  void copyTo(int row, MemoryRange target, long at) {
    int page = page(row);
    pages[page].copyTo(offset(page, entryOf(row)), target, at, length(row));
  }

  /** The address of a row of {@link #length}. */
  long address(int row) {
    int page = page(row);
    return pages[page].place(offset(page, entryOf(row)), length(row));
  }

  @Override
  public void close() {
    lease.close();
  }
}
