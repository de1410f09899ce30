package io.sluice.spark.order;

import io.sluice.spark.gpu.GpuPairSorter;
import io.sluice.spark.record.RowKey;
import org.apache.spark.TaskContext;
import org.apache.spark.unsafe.array.LongArray;
import org.apache.spark.util.collection.unsafe.sort.RadixSort;

/**
 * Sorts the references to {@link ResidentRows}: by radix on the numbers, many by a GPU where there is one, then within
 * every run of equal numbers by the numbers of the next bytes of the keys, and so on. Short runs are merge-sorted by
 * the numbers of the next bytes, and keys that have the same by comparing them, as are runs that numbers cannot take
 * further. Equal keys keep their order. Stops when the task is killed, between runs. One thread.
 */
final class ReferenceSort {
  /** Runs up to this length are merge-sorted: a pass of the radix sort counts 256 values for each of 8 bytes. */
  private static final int SHORT_RUN = 256;
  /** Prefixes are computed of at most the first {@code 8 × MAX_DEPTH} bytes of a key. */
  private static final int MAX_DEPTH = 32;
  /** The length of pieces that are sorted by insertion before they are merged. */
  private static final int PIECE = 16;
  private static final int LAST_BYTE = Long.BYTES - 1;
  private static final int ARRIVAL_LAST_BYTE = Integer.BYTES - 1;

  private final TaskContext context;
  private final ResidentRows rows;
  private final KeyOrder order;
  private final LongArray scratch;
  private final GpuPairSorter gpu;
  private final RowKey left = new RowKey();
  private final RowKey right = new RowKey();

  /**
   * @param scratch room for two times all references
   * @param gpu sorts many references
   */
  ReferenceSort(TaskContext context, ResidentRows rows, KeyOrder order, LongArray scratch, GpuPairSorter gpu) {
    this.context = context;
    this.rows = rows;
    this.order = order;
    this.scratch = scratch;
    this.gpu = gpu;
  }

  /** Sorts all references, whose numbers are those of the first bytes; numbers are undefined afterwards. */
  void sort() {
    if (rows.size() > 1) {
      sort(0, rows.size(), 0);
    }
  }

  /** Puts references into the order in which their rows were added. */
  void sortByArrival(int from, int until) {
    context.killTaskIfInterrupted();
    int count = until - from;
    for (int i = from; i < until; i++) {
      rows.set(i, rows.address(i), ResidentRows.arrival(rows.address(i)));
    }
    radix(from, count, ARRIVAL_LAST_BYTE);
  }

  /** Sorts by bytes 0 to {@code lastByte} of the numbers: by the GPU, or else here. */
  private void radix(int from, int count, int lastByte) {
    int sorted = 0;
    if (!gpu.sort(null, rows.reference(from), scratch.getBaseOffset(), count, 0, lastByte)) {
      long begun = System.nanoTime();
      rows.copyReferences(from, count, scratch);
      sorted = RadixSort.sortKeyPrefixArray(scratch, 0, count, 0, lastByte, false, false);
      gpu.sortedByTask(count, 0, lastByte, System.nanoTime() - begun);
    }
    rows.takeReferences(scratch, sorted, from, count);
  }

  /** @param depth which eight bytes of the keys are the prefix; all bytes before are equal */
  private void sort(int from, int until, int depth) {
    context.killTaskIfInterrupted();
    radix(from, until - from, LAST_BYTE);
    if (order.canSortFullyWithPrefix(depth)) {
      return;
    }
    int start = from;
    for (int i = from + 1; i <= until; i++) {
      if (i == until || rows.number(i) != rows.number(start)) {
        if (i - start > 1) {
          sortRun(start, i, depth);
        }
        start = i;
      }
    }
  }

  /** Sorts references that have the same number. */
  private void sortRun(int from, int until, int depth) {
    boolean renumbered = depth + 1 < MAX_DEPTH && order.hasNextPrefix(rows.number(from), depth)
        && renumber(from, until, depth + 1);
    if (renumbered && until - from > SHORT_RUN) {
      sort(from, until, depth + 1);
    } else {
      mergeSort(from, until);
    }
  }

  /** Replaces the numbers by those of {@code depth}; false when no key has bytes that far. */
  private boolean renumber(int from, int until, int depth) {
    boolean any = false;
    for (int i = from; i < until; i++) {
      long address = rows.address(i);
      left.pointTo(null, address, ResidentRows.bytes(address));
      any |= order.reaches(left, depth);
      rows.set(i, address, order.prefix(left, depth));
    }
    return any;
  }

  /**
   * Sorts references by their numbers, and by comparing their keys where those are equal: a stable merge sort within
   * {@link #scratch}, short pieces by insertion. Nothing is allocated, however long a run of equal numbers is.
   */
  private void mergeSort(int from, int until) {
    context.killTaskIfInterrupted();
    int count = until - from;
    rows.copyReferences(from, count, scratch);
    for (int start = 0; start < count; start += PIECE) {
      insertionSort(start, Math.min(start + PIECE, count));
    }
    int source = 0;
    int target = count;
    for (int width = PIECE; width < count && width > 0; width *= 2) {
      context.killTaskIfInterrupted();
      for (int start = 0; start < count; start += 2 * width) {
        int middle = Math.min(start + width, count);
        merge(source + start, source + middle, source + Math.min(middle + width, count), target + start);
      }
      int swap = source;
      source = target;
      target = swap;
    }
    rows.takeReferences(scratch, (long) source * ResidentRows.LONGS, from, count);
  }

  private void insertionSort(int from, int until) {
    for (int i = from + 1; i < until; i++) {
      long address = address(i);
      long number = number(i);
      int at = i;
      while (at > from && isBefore(address, number, address(at - 1), number(at - 1))) {
        copy(at - 1, at);
        at--;
      }
      scratch.set(at * ResidentRows.LONGS, address);
      scratch.set(at * ResidentRows.LONGS + 1, number);
    }
  }

  /** Merges two sorted pieces that follow each other to {@code to}; of equal keys the left one's come first. */
  private void merge(int from, int middle, int until, int to) {
    int left = from;
    int right = middle;
    boolean inOrder = middle >= until || !isBefore(middle, middle - 1);
    for (int at = to; at < to + until - from; at++) {
      boolean takeLeft = left < middle && (inOrder || right >= until || !isBefore(right, left));
      copy(takeLeft ? left++ : right++, at);
    }
  }

  private long address(int index) {
    return scratch.get(index * ResidentRows.LONGS);
  }

  private long number(int index) {
    return scratch.get(index * ResidentRows.LONGS + 1);
  }

  private void copy(int from, int to) {
    scratch.set(to * ResidentRows.LONGS, address(from));
    scratch.set(to * ResidentRows.LONGS + 1, number(from));
  }

  private boolean isBefore(int one, int other) {
    return isBefore(address(one), number(one), address(other), number(other));
  }

  private boolean isBefore(long one, long number, long other, long otherNumber) {
    if (number != otherNumber) {
      return Long.compareUnsigned(number, otherNumber) < 0;
    }
    left.pointTo(null, one, ResidentRows.bytes(one));
    right.pointTo(null, other, ResidentRows.bytes(other));
    return order.compare(left, right) < 0;
  }
}
