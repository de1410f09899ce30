package io.sluice.spark.sql;

import java.io.IOException;
import org.apache.spark.TaskContext;
import org.apache.spark.memory.TaskMemoryManager;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.memory.MemoryBlock;

/**
 * The rows that a sorter has in memory, in the order of their references, which are sorted. {@link #spill} moves those
 * that were not read to a file at any time, from any thread; everything else belongs to the reading thread. The sorter
 * is the lock.
 */
final class InsertedRows implements SortedRows {
  /** Rows whose first bytes are fetched into the cache together. */
  private static final int TOUCHED_ROWS = 32;

  private final BinaryRowSorter sorter;
  private final References references;
  /** References at the start that come last: nulls are stored first. */
  private final int shift;
  private final TaskMemoryManager memory;
  private final TaskContext context;
  private final int count;
  /** Changed by the reading thread only, so that it needs no lock to look at it. */
  private int left;
  private volatile boolean ended;
  private Object base;
  private long offset;
  private int bytes;
  /** Written so that the JIT compiler does not remove the loads that fetch cache lines. */
  private long touched;
  // Guarded by the sorter.
  private int next;
  /** The rest of the rows, when they had to be spilled. */
  private SpilledRows rest;
  /** Whether the memory was freed after the last row, while other runs are still being read. */
  private boolean freed;
  /** The page of the current row, when all others are free. */
  private MemoryBlock kept;

  /** @param shift so many references at the start come after all others */
  InsertedRows(BinaryRowSorter sorter, References references, int shift, TaskMemoryManager memory,
      TaskContext context) {
    this.sorter = sorter;
    this.references = references;
    this.shift = shift;
    this.memory = memory;
    this.context = context;
    this.count = references.size();
    this.left = count;
  }

  @Override
  public boolean hasNext() {
    return left > 0 && !ended;
  }

  @Override
  public void loadNext() throws IOException {
    left--;
    MemoryBlock unused;
    synchronized (sorter) {
      if (ended) {
        throw new IllegalStateException("the sorter of these rows was closed");
      }
      if (rest == null) {
        pointTo(reference(next));
        next++;
        return;
      }
      unused = kept;
      kept = null;
    }
    if (unused != null) {
      // Not under the lock, because Spark's memory manager calls spill under its own.
      sorter.free(unused);
    }
    rest.loadNext();
    base = rest.base();
    offset = rest.offset();
    bytes = rest.bytes();
  }

  private void pointTo(long address) {
    base = memory.getPage(address);
    offset = BinaryRowSorter.row(memory, address);
    bytes = BinaryRowSorter.bytes(base, offset);
  }

  /** The address of the row at a position of the order. */
  private long reference(int position) {
    if (position % TOUCHED_ROWS == 0) {
      context.killTaskIfInterrupted();
      touch(position, Math.min(position + TOUCHED_ROWS, count));
    }
    return address(position);
  }

  private long address(int position) {
    int at = position + shift;
    return references.address(at < count ? at : at - count);
  }

  /** The processor fetches rows that lie all over the memory at once when none waits for another. */
  private void touch(int from, int until) {
    for (int i = from; i < until; i++) {
      long address = address(i);
      touched += Platform.getByte(memory.getPage(address), memory.getOffsetInPage(address));
    }
  }

  /**
   * Writes the rows that were not read, if there are any, to a file and frees the memory, but for the page of the
   * current row.
   *
   * @return bytes that were freed
   */
  long spill() throws IOException {
    synchronized (sorter) {
      if (ended || rest != null || freed) {
        return 0;
      }
      MemoryBlock inUse = next > 0 ? sorter.pageOf(base, offset) : null;
      if (next == count) {
        freed = true;
        return sorter.freeAllBut(inUse);
      }
      SpilledRows written = SpilledRows.write(new Unread(), count - next, context);
      long bytes = sorter.moveToFile(written, inUse);
      rest = written;
      kept = inUse;
      return bytes;
    }
  }

  /** There are no more rows, and nothing is spilled any more: the memory is about to be freed. */
  void end() {
    synchronized (sorter) {
      ended = true;
    }
  }

  @Override
  public Object base() {
    return base;
  }

  @Override
  public long offset() {
    return offset;
  }

  @Override
  public int bytes() {
    return bytes;
  }

  /** The rows that were not read yet; the current one stays where it is. */
  private final class Unread implements SortedRows {
    /** Its own, so that the reader goes on with the rows in memory when they cannot be written. */
    private int position = next;
    private long address;

    @Override
    public boolean hasNext() {
      return position < count;
    }

    @Override
    public void loadNext() {
      address = reference(position);
      position++;
    }

    @Override
    public Object base() {
      return memory.getPage(address);
    }

    @Override
    public long offset() {
      return BinaryRowSorter.row(memory, address);
    }

    @Override
    public int bytes() {
      return BinaryRowSorter.bytes(base(), offset());
    }
  }
}
