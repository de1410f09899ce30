package io.sluice.spark.sql;

import io.sluice.spark.SluiceException;
import io.sluice.spark.compat.SparkLine;
import io.sluice.spark.gpu.ExecutorGpu;
import io.sluice.spark.gpu.GpuPairSorter;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Optional;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.memory.MemoryConsumer;
import org.apache.spark.memory.SparkOutOfMemoryError;
import org.apache.spark.memory.TaskMemoryManager;
import org.apache.spark.memory.TooLargePageException;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.array.LongArray;
import org.apache.spark.unsafe.memory.MemoryBlock;
import org.apache.spark.util.TaskCompletionListener;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/**
 * Sorts the binary rows of one task, in Spark's execution memory, as Spark's {@code UnsafeExternalRowSorter} does: when
 * Spark has no more memory for it, it writes what it has as a sorted run to Spark's local directories, and merges the
 * runs at the end. The difference is how rows in memory are sorted ({@link RowReferenceSort}).
 *
 * <pre>
 *   insertRow ─► pages: | length (8) | row | length | row | …      references: | address, number | …
 *                  │ no memory
 *                  ▼
 *               sorted, SpilledRows … ─┐
 *   sort ──────► sorted, InsertedRows ─┴─► MergedRows ─► one UnsafeRow, pointed to each row in turn
 * </pre>
 *
 * <p>Where the order is not one of the rows' columns, each row is kept with a row of its keys before it and the length
 * of that behind it; such a record is ordered as its first row.
 *
 * <p>Rows that are equal come in the order in which they were inserted; for a single column whose nulls Spark keeps
 * apart, in the order in which Spark's own sorter returns them.
 *
 * <p>One thread inserts and reads; Spark's memory manager may call {@link #spill} on another one. Memory and files are
 * freed after the last row, by {@link #cleanupResources}, or at the task's end.
 */
public final class BinaryRowSorter extends MemoryConsumer {
  private static final int FIRST_REFERENCES = 1024;

  private final TaskContext context;
  private final TaskMemoryManager memory;
  private final RowOrder order;
  /** Makes a row of a row's keys; null where the order is one of the rows themselves. */
  private final UnsafeProjection keys;
  private final int fields;
  private final RowOrder.Part firstPart;
  /** What is known of all rows that were inserted; null where it makes no difference. */
  private final SeenValues seen;
  private final int mostRows;
  private final long mostBytes;
  private final GpuPairSorter gpu;
  /** Whether rows without a value of the only column are kept before the others: Spark's radix sort does. */
  private final boolean nullsApart;
  private final List<MemoryBlock> pages = new ArrayList<>();
  private final List<SpilledRows> spilled = new ArrayList<>();
  /** Null when no row is in memory. */
  private References references;
  private int nulls;
  private MemoryBlock page;
  /** Offset in the page. */
  private long free;
  private long peakBytes;
  private long sortNanos;
  private long sortedRows;
  private long comparedRows;
  /** Null as long as rows are inserted. */
  private volatile InsertedRows resident;
  private boolean closed;

  private BinaryRowSorter(TaskContext context, RowOrder order, UnsafeProjection keys, int fields, boolean radixSort,
      int mostRows, long mostBytes, GpuPairSorter gpu) {
    super(context.taskMemoryManager(), context.taskMemoryManager().pageSizeBytes(),
        context.taskMemoryManager().getTungstenMemoryMode());
    this.context = context;
    this.memory = context.taskMemoryManager();
    this.order = order;
    this.keys = keys;
    this.fields = fields;
    this.mostRows = mostRows;
    this.mostBytes = mostBytes;
    this.gpu = gpu;
    this.nullsApart = radixSort && order.isOneNumber();
    this.firstPart = nullsApart ? new RowOrder.Part(0, 0, false) : order.first();
    this.seen = order.seenValues().orElse(null);
    context.addTaskCompletionListener((TaskCompletionListener) ended -> cleanupResources());
  }

  /**
   * A sorter of the running task.
   *
   * @param radixSort whether Spark's own sorter would use its radix sort ({@code spark.sql.sort.enableRadixSort}): it
   *     decides about the order of rows that are equal
   */
  public static BinaryRowSorter create(RowOrder order, boolean radixSort) {
    return create(order, null, order.fields(), radixSort);
  }

  /**
   * A sorter of the running task.
   *
   * @param order of rows that {@code keys} makes
   * @param keys makes a row of a row's keys; null where the order is one of the rows themselves
   * @param fields of the rows
   * @param radixSort as above
   */
  public static BinaryRowSorter create(RowOrder order, UnsafeProjection keys, int fields, boolean radixSort) {
    SparkConf conf = SparkEnv.get().conf();
    return create(order, keys, fields, radixSort,
        conf.getInt("spark.shuffle.spill.numElementsForceSpillThreshold", Integer.MAX_VALUE),
        conf.getSizeAsBytes("spark.shuffle.spill.maxSizeInBytesForSpillThreshold", Long.MAX_VALUE + "b"));
  }

  static BinaryRowSorter create(RowOrder order, boolean radixSort, int mostRows) {
    return create(order, null, order.fields(), radixSort, mostRows, Long.MAX_VALUE);
  }

  /**
   * A sorted run is written when there are {@code mostRows} rows in memory, and when their pages have {@code mostBytes}
   * bytes.
   */
  static BinaryRowSorter create(RowOrder order, UnsafeProjection keys, int fields, boolean radixSort, int mostRows,
      long mostBytes) {
    return create(order, keys, fields, radixSort, mostRows, mostBytes, ExecutorGpu.ofProcess());
  }

  /** @param gpu sorts many references */
  static BinaryRowSorter create(RowOrder order, UnsafeProjection keys, int fields, boolean radixSort, int mostRows,
      long mostBytes, Optional<ExecutorGpu> gpu) {
    TaskContext context = TaskContext.get();
    return new BinaryRowSorter(context, order, keys, fields, radixSort, Math.min(mostRows, References.MOST), mostBytes,
        GpuPairSorter.of(gpu, context));
  }

  /** Whether the user limits how many spilled runs are merged at once (from Spark 4.2 on): this sorter does not. */
  public static boolean isMergeLimited() {
    return SparkEnv.get().conf().getInt("spark.unsafe.sorter.spill.merge.factor", -1) != -1;
  }

  /** Where the row at {@code address} starts in its page. */
  static long row(TaskMemoryManager memory, long address) {
    return memory.getOffsetInPage(address) + Long.BYTES;
  }

  /** Length of the row at {@code row}. */
  static int bytes(Object base, long row) {
    return (int) Platform.getLong(base, row - Long.BYTES);
  }

  /** Inserts all rows, which are {@link UnsafeRow}s. */
  public void insertAll(Iterator<?> rows) throws IOException {
    while (rows.hasNext()) {
      insertRow((UnsafeRow) rows.next());
    }
  }

  /** Copies a row in. */
  public void insertRow(UnsafeRow row) throws IOException {
    if (references != null && (references.size() >= mostRows || pageBytes() >= mostBytes)) {
      spillInserted();
    }
    UnsafeRow key = keys == null ? null : keys.apply(row);
    int keyBytes = key == null ? 0 : key.getSizeInBytes();
    int bytes = recordBytes(row, key);
    makeRoomForReference();
    makeRoom((long) bytes + Long.BYTES);
    Object base = page.getBaseObject();
    long address = memory.encodePageNumberAndOffset(page, free);
    long start = free + Long.BYTES;
    Platform.putLong(base, free, bytes);
    if (key != null) {
      Platform.copyMemory(key.getBaseObject(), key.getBaseOffset(), base, start, keyBytes);
      Platform.putLong(base, start + bytes - Long.BYTES, keyBytes);
    }
    Platform.copyMemory(
        row.getBaseObject(), row.getBaseOffset(), base, start + keyBytes, row.getSizeInBytes());
    free += bytes + Long.BYTES;
    if (seen != null) {
      seen.add(base, start);
    }
    if (nullsApart && order.isNull(base, start)) {
      references.addAt(nulls, address, 0);
      nulls++;
    } else {
      references.add(address, order.number(firstPart, base, start, bytes));
    }
  }

  private static int recordBytes(UnsafeRow row, UnsafeRow key) {
    long bytes = row.getSizeInBytes() + (key == null ? 0L : (long) key.getSizeInBytes() + Long.BYTES);
    if (bytes > Integer.MAX_VALUE - Long.BYTES) {
      throw new SluiceException("cannot sort a row of " + row.getSizeInBytes() + " bytes with keys of "
          + (bytes - row.getSizeInBytes()) + ": together they must have less than 2 GiB; with "
          + "spark.sluice.sql.sort=false Spark sorts the rows");
    }
    return (int) bytes;
  }

  private long pageBytes() {
    return getUsed() - references.array().size() * Long.BYTES;
  }

  private void makeRoom(long bytes) {
    if (page == null || free + bytes > page.getBaseOffset() + page.size()) {
      // May spill what there is, with the references: room for one is made again then.
      MemoryBlock fresh = allocatePage(bytes);
      pages.add(fresh);
      page = fresh;
      free = fresh.getBaseOffset();
      if (references == null) {
        references = new References(allocateArray(2L * References.LONGS * FIRST_REFERENCES));
      }
    }
  }

  private void makeRoomForReference() throws IOException {
    if (references == null) {
      references = new References(allocateArray(2L * References.LONGS * FIRST_REFERENCES));
    } else if (references.size() == references.capacity()) {
      growReferences();
    }
  }

  private void growReferences() throws IOException {
    LongArray larger = null;
    try {
      // May spill what there is, with the references.
      larger = allocateArray(2 * references.array().size());
    } catch (TooLargePageException e) {
      spillInserted();
    } catch (SparkOutOfMemoryError e) {
      if (references != null) {
        throw e;
      }
    }
    if (references == null) {
      if (larger != null) {
        freeArray(larger);
      }
      references = new References(allocateArray(2L * References.LONGS * FIRST_REFERENCES));
      return;
    }
    References grown = new References(larger);
    grown.takeFrom(references);
    freeArray(references.array());
    references = grown;
  }

  /**
   * Called by Spark's memory manager. While rows are inserted, the sorter spills only when it needs memory itself, as
   * Spark's sorter does; while they are read, when any other operator of the task does.
   */
  @Override
  public long spill(long size, MemoryConsumer trigger) throws IOException {
    if (resident != null) {
      return trigger == this ? 0 : resident.spill();
    }
    return trigger == this ? spillInserted() : 0;
  }

  private long spillInserted() throws IOException {
    if (references == null || references.size() == 0) {
      return 0;
    }
    updatePeak();
    sortReferences();
    spilled.add(SpilledRows.write(insertedRows(), references.size(), context));
    long freed = freeMemory();
    context.taskMetrics().incMemoryBytesSpilled(freed);
    return freed;
  }

  private InsertedRows insertedRows() {
    return new InsertedRows(this, references, order.areNullsFirst() ? 0 : nulls, memory, context);
  }

  private void sortReferences() {
    long start = System.nanoTime();
    if (references.size() - nulls > 1) {
      RowReferenceSort sort = new RowReferenceSort(context, memory, order, references, gpu);
      sort.sort(nulls, references.size(), firstPart, seen);
      comparedRows += sort.comparedRows();
    }
    sortedRows += references.size();
    sortNanos += System.nanoTime() - start;
  }

  /** Sorts; no row may be inserted any more. */
  public Iterator<UnsafeRow> sort() throws IOException {
    updatePeak();
    List<SortedRows> runs = new ArrayList<>();
    for (SpilledRows run : spilled) {
      run.open();
      runs.add(run);
    }
    if (references != null && references.size() > 0) {
      sortReferences();
      resident = insertedRows();
      runs.add(resident);
    }
    if (runs.isEmpty()) {
      cleanupResources();
    }
    return new Rows(runs.size() == 1 ? runs.get(0) : new MergedRows(order, runs));
  }

  /** Sorts all rows, which are {@link UnsafeRow}s. */
  public Iterator<UnsafeRow> sort(Iterator<?> rows) throws IOException {
    insertAll(rows);
    return sort();
  }

  /** Those of the task whose rows these are. */
  TaskMetrics taskMetrics() {
    return context.taskMetrics();
  }

  /** Time of sorting in memory, that of spilled runs included. */
  public long getSortTimeNanos() {
    return sortNanos;
  }

  /** Rows that were sorted in memory, those of spilled runs included. */
  long getSortedRows() {
    return sortedRows;
  }

  /** Those of {@link #getSortedRows} that were compared with others, because numbers did not tell them apart. */
  long getComparedRows() {
    return comparedRows;
  }

  /** The most memory it ever held, in bytes. */
  public long getPeakMemoryUsage() {
    updatePeak();
    return peakBytes;
  }

  private void updatePeak() {
    peakBytes = Math.max(peakBytes, getUsed());
  }

  /** Frees memory and files; there are no more rows then. Twice is fine. */
  public void cleanupResources() {
    updatePeak();
    closed = true;
    if (resident != null) {
      resident.end();
    }
    spilled.forEach(SpilledRows::delete);
    spilled.clear();
    freeMemory();
  }

  /** Frees a page that no row is read from any more. */
  void free(MemoryBlock unused) {
    pages.remove(unused);
    freePage(unused);
  }

  /**
   * Takes over a file of rows that were in memory, opens it, and frees the memory.
   *
   * @param inUse the page of the row that is being read, which stays; null if there is none
   * @return bytes that were freed
   */
  long moveToFile(SpilledRows rows, MemoryBlock inUse) throws IOException {
    spilled.add(rows);
    rows.open();
    long freed = freeAllBut(inUse);
    context.taskMetrics().incMemoryBytesSpilled(freed);
    return freed;
  }

  /**
   * Frees the memory of rows that were all read.
   *
   * @param inUse as in {@link #moveToFile}
   * @return bytes that were freed
   */
  long freeAllBut(MemoryBlock inUse) {
    updatePeak();
    pages.remove(inUse);
    long freed = freeMemory();
    if (inUse != null) {
      pages.add(inUse);
    }
    return freed;
  }

  /** The page with the row at {@code offset} of {@code base}. */
  MemoryBlock pageOf(Object base, long offset) {
    for (MemoryBlock candidate : pages) {
      if (candidate.getBaseObject() == base && offset >= candidate.getBaseOffset()
          && offset < candidate.getBaseOffset() + candidate.size()) {
        return candidate;
      }
    }
    throw new IllegalStateException("the current row is in no page of its sorter");
  }

  private long freeMemory() {
    long before = getUsed();
    pages.forEach(this::freePage);
    pages.clear();
    page = null;
    free = 0;
    if (references != null) {
      freeArray(references.array());
      references = null;
    }
    nulls = 0;
    return before - getUsed();
  }

  /** What the consumer reads. */
  private final class Rows extends AbstractIterator<UnsafeRow> {
    private final SortedRows rows;
    private final UnsafeRow row = new UnsafeRow(fields);

    Rows(SortedRows rows) {
      this.rows = rows;
    }

    @Override
    public boolean hasNext() {
      return !closed && rows.hasNext();
    }

    @Override
    public UnsafeRow next() {
      if (!hasNext()) {
        throw new NoSuchElementException("no more sorted rows");
      }
      try {
        rows.loadNext();
      } catch (IOException e) {
        // As Spark's sorter does: the exception itself, and nothing is kept until the task's end.
        cleanupResources();
        throw SparkLine.unchecked(e);
      }
      pointToRow();
      if (rows.hasNext()) {
        return row;
      }
      // Consumers use the last row after they were told that there is none left, when the memory is free.
      UnsafeRow last = row.copy();
      cleanupResources();
      return last;
    }

    private void pointToRow() {
      int keyBytes = 0;
      int bytes = rows.bytes();
      if (keys != null) {
        keyBytes = (int) Platform.getLong(rows.base(), rows.offset() + bytes - Long.BYTES);
        bytes -= keyBytes + Long.BYTES;
      }
      row.pointTo(rows.base(), rows.offset() + keyBytes, bytes);
    }
  }
}
