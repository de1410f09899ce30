package io.sluice.spark.sql;

import io.sluice.spark.gpu.GpuPairSorter;
import io.sluice.spark.sql.RowOrder.Part;
import java.util.Arrays;
import org.apache.spark.TaskContext;
import org.apache.spark.memory.TaskMemoryManager;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.array.LongArray;

/**
 * Sorts references to rows by the numbers of one part of their order after the other: by radix (many of them by a GPU,
 * where there is one that takes them), as many of the highest bytes that differ as tell most rows apart, and again
 * among those that they do not tell apart. Short runs of equal bytes are sorted by comparing rows. Rows that are equal
 * stay in the order in which they were. Allocates nothing of size. Stops when the task is killed. One thread.
 */
final class RowReferenceSort {
  /** Up to this many references are sorted by insertion. */
  private static final int FEW = 32;
  /** Runs of equal bytes up to this length are sorted by comparing rows, which may be equal in many more bytes. */
  private static final int SHORT_RUN = 64;
  /** Parts that are looked at one within the other: rows that are equal in many bytes are compared in the end. */
  private static final int MOST_PARTS = 64;
  /** Bytes of text are seldom random: so many more must be left of a number. */
  private static final int SPARE_BYTES = 2;
  /** Pieces that are sorted by insertion before they are merged. */
  private static final int PIECE = 16;
  /** Numbers that are looked at to know whether they tell rows apart. */
  private static final int SAMPLE = 1024;
  private static final int VALUES = 1 << Byte.SIZE;
  private static final int REFERENCE_BYTES = References.LONGS * Long.BYTES;

  private final TaskContext context;
  private final TaskMemoryManager memory;
  private RowOrder order;
  private final References references;
  private final GpuPairSorter gpu;
  private final Object base;
  private final long start;
  /** Where the second half of the array is. */
  private final long half;
  private final int[][] counts = new int[Long.BYTES][VALUES];
  /** The bits in which the numbers differ that were looked at last. */
  private long differing;
  private long comparedRows;

  /** @param gpu sorts many references */
  RowReferenceSort(TaskContext context, TaskMemoryManager memory, RowOrder order, References references,
      GpuPairSorter gpu) {
    this.gpu = gpu;
    this.context = context;
    this.memory = memory;
    this.order = order;
    this.references = references;
    LongArray array = references.array();
    this.base = array.getBaseObject();
    this.start = array.getBaseOffset();
    this.half = start + (long) references.capacity() * REFERENCE_BYTES;
  }

  /**
   * Sorts some references, whose numbers are those of {@code part}; afterwards numbers mean nothing. Rows lie in the
   * memory in the order of their references, so numbers of another part cost little: where all rows begin with the same
   * bytes, so that too few bits of the numbers are left, they are sorted by those behind them; where many rows have the
   * same number, by numbers that tell more of these rows apart.
   *
   * @param seen what is known of the rows; null for nothing
   */
  void sort(int from, int until, Part part, SeenValues seen) {
    if (until - from <= FEW) {
      sortFew(from, until, part, MOST_PARTS);
      return;
    }
    if (seen != null && areOftenEqual(from, until)) {
      seen.order().ifPresent(known -> {
        order = known;
        number(from, until, part);
      });
    }
    Part telling = differingPart(from, until, part, MOST_PARTS);
    if (telling == null) {
      return;
    }
    int equalBits = Long.numberOfLeadingZeros(differing);
    boolean tellEnough = equalBits + Byte.SIZE * (bytesFor(until - from) + SPARE_BYTES) <= Long.SIZE;
    Part behind = tellEnough ? telling : order.behind(telling, references.number(from), equalBits);
    if (behind != telling) {
      number(from, until, behind);
      differing = differing(from, until);
    }
    sortByNumber(from, until, behind, MOST_PARTS);
  }

  /** Whether a sixteenth of some numbers are those of other references too. */
  private boolean areOftenEqual(int from, int until) {
    int count = Math.min(SAMPLE, until - from);
    long[] sample = new long[count];
    for (int i = 0; i < count; i++) {
      sample[i] = references.number(from + (int) ((long) (until - from) * i / count));
    }
    Arrays.sort(sample);
    int equal = 0;
    for (int i = 1; i < count; i++) {
      equal += sample[i] == sample[i - 1] ? 1 : 0;
    }
    return equal > count / 16;
  }

  /** @param depth how many more parts may be looked at, one within the other; beyond them rows are compared */
  private void sort(int from, int until, Part part, int depth) {
    if (until - from <= FEW) {
      sortFew(from, until, part, depth);
      return;
    }
    Part telling = differingPart(from, until, part, depth);
    if (telling != null) {
      sortByNumber(from, until, telling, depth);
    }
  }

  /** How many rows were compared with others so far. */
  long comparedRows() {
    return comparedRows;
  }

  private void sortFew(int from, int until, Part part, int depth) {
    insertByNumber(from, until);
    eachRun(from, until, 0, part, depth);
  }

  /** Numbers differ in the bits of {@link #differing}. */
  private void sortByNumber(int from, int until, Part part, int depth) {
    context.killTaskIfInterrupted();
    int high = (Long.SIZE - 1 - Long.numberOfLeadingZeros(differing)) / Byte.SIZE;
    int low = Math.max(0, high + 1 - bytesFor(until - from));
    radix(from, until, low, high);
    eachRun(from, until, low, part, depth);
  }

  /**
   * The first part from {@code part} on whose numbers differ, which references have then, in the bits of {@link
   * #differing}; null if they are sorted.
   */
  private Part differingPart(int from, int until, Part part, int depth) {
    Part current = part;
    differing = differing(from, until);
    while (differing == 0) {
      current = next(from, until, current, depth);
      if (current == null) {
        return null;
      }
      number(from, until, current);
      differing = differing(from, until);
    }
    return current;
  }

  /** So many bytes that, were they random, few references would have the same: bits for each and four more. */
  private static int bytesFor(int count) {
    int bits = Integer.SIZE - Integer.numberOfLeadingZeros(count) + 4;
    return (bits + Byte.SIZE - 1) / Byte.SIZE;
  }

  private long differing(int from, int until) {
    long differing = 0;
    long first = references.number(from);
    for (int i = from + 1; i < until; i++) {
      differing |= first ^ references.number(i);
    }
    return differing;
  }

  /** Goes on with each run of references that are sorted by the bytes of their numbers from {@code low} on. */
  private void eachRun(int from, int until, int low, Part part, int depth) {
    int shift = low * Byte.SIZE;
    int run = from;
    for (int i = from + 1; i <= until; i++) {
      if (i == until || references.number(i) >>> shift != references.number(run) >>> shift) {
        if (i - run > 1) {
          if (low == 0) {
            equal(run, i, part, depth);
          } else {
            sort(run, i, part, depth);
          }
        }
        run = i;
      }
    }
  }

  private void insertByNumber(int from, int until) {
    for (int i = from + 1; i < until; i++) {
      long address = references.address(i);
      long number = references.number(i);
      int at = i;
      while (at > from && Long.compareUnsigned(references.number(at - 1), number) > 0) {
        references.set(at, references.address(at - 1), references.number(at - 1));
        at--;
      }
      references.set(at, address, number);
    }
  }

  /** Sorts by bytes {@code low} to {@code high} of the numbers: by the GPU, or else here. */
  private void radix(int from, int until, int low, int high) {
    long source = start + (long) from * REFERENCE_BYTES;
    long target = half + (long) from * REFERENCE_BYTES;
    int count = until - from;
    if (gpu.sort(base, source, target, count, low, high)) {
      Platform.copyMemory(base, target, base, source, (long) count * REFERENCE_BYTES);
      return;
    }
    long begun = System.nanoTime();
    radixHere(from, until, low, high);
    gpu.sortedByTask(count, low, high, System.nanoTime() - begun);
  }

  /** The lowest byte first. */
  private void radixHere(int from, int until, int low, int high) {
    long source = start + (long) from * REFERENCE_BYTES;
    long target = half + (long) from * REFERENCE_BYTES;
    long bytes = (long) (until - from) * REFERENCE_BYTES;
    count(source, source + bytes, low, high);
    boolean moved = false;
    for (int at = low; at <= high; at++) {
      int shift = at * Byte.SIZE;
      int[] places = counts[at];
      if (places[(int) (Platform.getLong(base, source + Long.BYTES) >>> shift) & VALUES - 1] == until - from) {
        continue;
      }
      int place = 0;
      for (int value = 0; value < VALUES; value++) {
        int count = places[value];
        places[value] = place;
        place += count;
      }
      for (long reference = source; reference < source + bytes; reference += REFERENCE_BYTES) {
        long number = Platform.getLong(base, reference + Long.BYTES);
        long to = target + (long) places[(int) (number >>> shift) & VALUES - 1]++ * REFERENCE_BYTES;
        Platform.putLong(base, to, Platform.getLong(base, reference));
        Platform.putLong(base, to + Long.BYTES, number);
      }
      long swap = source;
      source = target;
      target = swap;
      moved = !moved;
    }
    if (moved) {
      Platform.copyMemory(base, source, base, target, bytes);
    }
  }

  private void count(long from, long until, int low, int high) {
    for (int at = low; at <= high; at++) {
      Arrays.fill(counts[at], 0);
    }
    for (long reference = from; reference < until; reference += REFERENCE_BYTES) {
      long number = Platform.getLong(base, reference + Long.BYTES);
      for (int at = low; at <= high; at++) {
        counts[at][(int) (number >>> at * Byte.SIZE) & VALUES - 1]++;
      }
    }
  }

  /** Sorts references with the same number of {@code part} by what comes after it. */
  private void equal(int from, int until, Part part, int depth) {
    Part next = next(from, until, part, depth);
    if (next != null) {
      number(from, until, next);
      sort(from, until, next, depth - 1);
    }
  }

  /** The part that tells references with the same number of {@code part} apart; null when they are sorted then. */
  private Part next(int from, int until, Part part, int depth) {
    context.killTaskIfInterrupted();
    int column = order.undecided(part, references.number(from));
    if (order.isEnd(column)) {
      return null;
    }
    boolean nextColumn = column > part.column();
    boolean fewBytes = until - from <= SHORT_RUN && !nextColumn && order.isOfBytes(part);
    if (!order.hasOnePart() && !fewBytes && depth > 0) {
      Part next = nextColumn ? new Part(column, 0, true)
          : order.isOfBytes(part) ? afterBytes(from, until, part) : new Part(column, 0, false);
      if (next != null) {
        return order.isEnd(next.column()) ? null : next;
      }
    }
    compareAll(from, until, column);
    return null;
  }

  /** The next bytes of the column, or the next column if these were the last; null if comparing must tell. */
  private Part afterBytes(int from, int until, Part part) {
    int end = order.end(part);
    int first = length(from, part);
    boolean same = true;
    boolean more = false;
    for (int i = from; i < until; i++) {
      int length = length(i, part);
      same &= length == first;
      more |= length > end;
    }
    return more ? new Part(part.column(), end, false) : same ? new Part(part.column() + 1, 0, true) : null;
  }

  private int length(int index, Part part) {
    long address = references.address(index);
    return order.length(part, memory.getPage(address), BinaryRowSorter.row(memory, address));
  }

  private void number(int from, int until, Part part) {
    for (int i = from; i < until; i++) {
      long address = references.address(i);
      Object base = memory.getPage(address);
      long row = BinaryRowSorter.row(memory, address);
      references.set(i, address, order.number(part, base, row, BinaryRowSorter.bytes(base, row)));
    }
  }

  /** Sorts references by comparing their rows from a column on: a merge sort of the addresses in the second half. */
  private void compareAll(int from, int until, int column) {
    context.killTaskIfInterrupted();
    int count = until - from;
    comparedRows += count;
    for (int i = 0; i < count; i++) {
      put(i, references.address(from + i));
    }
    for (int piece = 0; piece < count; piece += PIECE) {
      insertByRow(piece, Math.min(piece + PIECE, count), column);
    }
    int source = 0;
    int target = count;
    for (int width = PIECE; width < count && width > 0; width *= 2) {
      context.killTaskIfInterrupted();
      for (int left = 0; left < count; left += 2 * width) {
        int middle = Math.min(left + width, count);
        merge(source + left, source + middle, source + Math.min(middle + width, count), target + left, column);
      }
      int swap = source;
      source = target;
      target = swap;
    }
    for (int i = 0; i < count; i++) {
      references.set(from + i, get(source + i), 0);
    }
  }

  private long get(int index) {
    return Platform.getLong(base, half + (long) index * Long.BYTES);
  }

  private void put(int index, long address) {
    Platform.putLong(base, half + (long) index * Long.BYTES, address);
  }

  private void insertByRow(int from, int until, int column) {
    for (int i = from + 1; i < until; i++) {
      long moved = get(i);
      int at = i;
      while (at > from && compare(get(at - 1), moved, column) > 0) {
        put(at, get(at - 1));
        at--;
      }
      put(at, moved);
    }
  }

  /** Merges two sorted pieces that follow each other to {@code to}; of equal rows the left one's come first. */
  private void merge(int from, int middle, int until, int to, int column) {
    int left = from;
    int right = middle;
    boolean inOrder = middle >= until || compare(get(middle - 1), get(middle), column) <= 0;
    for (int at = to; at < to + until - from; at++) {
      boolean takeLeft = left < middle
          && (inOrder || right >= until || compare(get(left), get(right), column) <= 0);
      put(at, get(takeLeft ? left++ : right++));
    }
  }

  private int compare(long left, long right, int column) {
    Object leftBase = memory.getPage(left);
    long leftRow = BinaryRowSorter.row(memory, left);
    Object rightBase = memory.getPage(right);
    long rightRow = BinaryRowSorter.row(memory, right);
    return order.compare(leftBase, leftRow, BinaryRowSorter.bytes(leftBase, leftRow),
        rightBase, rightRow, BinaryRowSorter.bytes(rightBase, rightRow), column);
  }
}
