package io.sluice.spark.order;

import io.sluice.nativebridge.Lease;
import io.sluice.spark.memory.TaskMemory;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.array.LongArray;
import org.apache.spark.unsafe.memory.MemoryBlock;

/**
 * Rows of one task in off-heap memory, and a reference to each: its address and a number to sort it by. Takes memory
 * from the task's account up to a limit, only as long as there is some at once, and gives it back in {@link #close}.
 * One thread, but for {@link #close} and readers that hold the object's monitor.
 *
 * <pre>
 *   page:     | length (4), arrival (4) | row | length, arrival | row | …
 *   references:  | address, number | address, number | …
 * </pre>
 *
 * <p>A row's arrival is how many were added before it.
 */
final class ResidentRows implements AutoCloseable {
  /** Longs of a reference: Spark's radix sort wants the number second. */
  static final int LONGS = 2;

  private static final int WORD = Long.BYTES;
  private static final int CACHE_LINE = 64;
  private static final int REFERENCE_BYTES = LONGS * WORD;
  private static final long FIRST_PAGE_BYTES = 64 * 1024;
  private static final long MAX_PAGE_BYTES = 1024 * 1024;
  private static final int PAGE_GROWTH = 4;
  private static final int FIRST_REFERENCES = 1024;
  /** References of more rows than this would not fit the {@code int} positions of Spark's radix sort. */
  private static final int MAX_ROWS = 1 << 28;

  private final TaskMemory memory;
  private final long limitBytes;
  private final boolean alwaysSortable;
  private final List<Lease> pages = new ArrayList<>();
  private Lease references;
  private Lease scratch;
  private int capacity;
  private int size;
  private long heldBytes;
  private long peakBytes;
  private long nextPageBytes = FIRST_PAGE_BYTES;
  private long free;
  private long pageEnd;

  /**
   * @param limitBytes the most memory that rows and references of all sorts of the task take together
   * @param alwaysSortable whether rows are only taken as long as there is memory for {@link #takeScratch} too
   */
  ResidentRows(TaskMemory memory, long limitBytes, boolean alwaysSortable) {
    this.memory = memory;
    this.limitBytes = limitBytes;
    this.alwaysSortable = alwaysSortable;
  }

  /**
   * Copies a row in, {@code bytes} at {@code offset} of {@code base}; false, with nothing changed, when there is no
   * room.
   */
  boolean add(Object base, long offset, int bytes, long number) {
    long needed = WORD + (long) bytes;
    if (pageEnd - free < needed && !addPage(needed) || size == capacity && !addReferences()) {
      return false;
    }
    Platform.putLong(null, free, (long) size << Integer.SIZE | bytes);
    Platform.copyMemory(base, offset, null, free + WORD, bytes);
    set(size, free + WORD, number);
    free += needed;
    size++;
    return true;
  }

  int size() {
    return size;
  }

  /** Where the row of the reference at {@code index} starts. */
  long address(int index) {
    return Platform.getLong(null, reference(index));
  }

  /** Length of the row at {@code address}. */
  static int bytes(long address) {
    return (int) Platform.getLong(null, address - WORD);
  }

  /** How many rows were added before the row at {@code address}. */
  static int arrival(long address) {
    return (int) (Platform.getLong(null, address - WORD) >>> Integer.SIZE);
  }

  long number(int index) {
    return Platform.getLong(null, reference(index) + WORD);
  }

  void set(int index, long address, long number) {
    long at = reference(index);
    Platform.putLong(null, at, address);
    Platform.putLong(null, at + WORD, number);
  }

  /** Copies {@code count} references, from index {@code from} on, to the start of {@code target}. */
  void copyReferences(int from, int count, LongArray target) {
    Platform.copyMemory(null, reference(from), target.getBaseObject(), target.getBaseOffset(),
        (long) count * REFERENCE_BYTES);
  }

  /**
   * Copies {@code count} references that start at {@code source}'s long {@code position} over those from {@code to}
   * on.
   */
  void takeReferences(LongArray source, long position, int to, int count) {
    Platform.copyMemory(source.getBaseObject(), source.getBaseOffset() + position * WORD, null, reference(to),
        (long) count * REFERENCE_BYTES);
  }

  /** Takes memory for two times all references, for sorting them; null when there is none. */
  LongArray takeScratch() {
    long bytes = scratchBytes(size);
    if (scratch == null) {
      scratch = lease(Math.max(1, bytes));
    }
    return scratch == null ? null : new LongArray(new MemoryBlock(null, scratch.address(), bytes));
  }

  private static long scratchBytes(int references) {
    return 2L * references * REFERENCE_BYTES;
  }

  /** Frees the memory of {@link #takeScratch}. */
  void freeScratch() {
    if (scratch != null) {
      release(scratch);
      scratch = null;
    }
  }

  /** Bytes of rows and references. */
  long heldBytes() {
    return heldBytes;
  }

  /**
   * Reads the start of each of some rows, of which the processor then fetches many at once: they lie all over the
   * memory.
   *
   * @return nothing of meaning, for the caller to keep, so that the compiler does not remove the reads
   */
  long touch(int from, int until, int mostBytes) {
    long sum = 0;
    for (int i = from; i < until; i++) {
      long address = address(i);
      int end = Math.min(bytes(address), mostBytes);
      for (int at = CACHE_LINE - Long.BYTES; at < end; at += CACHE_LINE) {
        sum += Platform.getByte(null, address + at);
      }
    }
    return sum;
  }

  /** The most memory it ever held, in bytes. */
  long peakBytes() {
    return peakBytes;
  }

  /** Where the reference at {@code index} lies, off the heap. */
  long reference(int index) {
    return references.address() + (long) index * REFERENCE_BYTES;
  }

  private boolean addPage(long needed) {
    Lease page = lease(Math.max(nextPageBytes, needed));
    if (page == null) {
      return false;
    }
    pages.add(page);
    nextPageBytes = Math.min(MAX_PAGE_BYTES, nextPageBytes * PAGE_GROWTH);
    free = page.address();
    pageEnd = free + page.bytes();
    return true;
  }

  private boolean addReferences() {
    int wanted = capacity == 0 ? FIRST_REFERENCES : 2 * capacity;
    Lease larger = wanted > MAX_ROWS ? null : lease((long) wanted * REFERENCE_BYTES);
    if (larger == null || alwaysSortable && !takeScratchFor(wanted)) {
      if (larger != null) {
        release(larger);
      }
      return false;
    }
    if (references != null) {
      Platform.copyMemory(null, references.address(), null, larger.address(), (long) size * REFERENCE_BYTES);
      release(references);
    }
    references = larger;
    capacity = wanted;
    return true;
  }

  /** Memory to sort so many references; if there is none, what there was stays. */
  private boolean takeScratchFor(int wanted) {
    Lease larger = lease(scratchBytes(wanted));
    if (larger == null) {
      return false;
    }
    freeScratch();
    scratch = larger;
    return true;
  }

  private Lease lease(long bytes) {
    Lease lease = memory.tryLeaseResident(bytes, limitBytes);
    if (lease != null) {
      heldBytes += bytes;
      peakBytes = Math.max(peakBytes, heldBytes);
    }
    return lease;
  }

  private void release(Lease lease) {
    heldBytes -= lease.bytes();
    memory.free(lease);
  }

  /** Frees rows and references, of which there are none from then on; twice is fine. */
  @Override
  public synchronized void close() {
    freeScratch();
    pages.forEach(this::release);
    pages.clear();
    if (references != null) {
      release(references);
      references = null;
    }
    size = 0;
    capacity = 0;
    free = 0;
    pageEnd = 0;
  }
}
