package io.sluice.spark.order;

import io.sluice.spark.record.RowKey;
import java.util.Arrays;
import java.util.Comparator;
import org.apache.spark.TaskContext;
import org.apache.spark.unsafe.array.LongArray;
import org.apache.spark.util.collection.unsafe.sort.RadixSort;

/**
 * Sorts the references to {@link ResidentRows}: by radix on the numbers, then within every run of equal numbers by the
 * numbers of the next bytes of the keys, and so on; runs that are short, or that numbers cannot take further, by
 * comparing keys. Equal keys keep their order. Stops when the task is killed, between runs. One thread.
 */
final class ReferenceSort {
  /** Runs up to this length are compared: a pass of the radix sort counts 256 values for each of 8 bytes. */
  private static final int SHORT_RUN = 256;
  /** Numbers are made of the first {@code 8 × MAX_DEPTH} bytes of a key at most. */
  private static final int MAX_DEPTH = 32;
  private static final int LAST_BYTE = Long.BYTES - 1;

  private final TaskContext context;
  private final ResidentRows rows;
  private final KeyOrder order;
  private final LongArray scratch;
  private final RowKey left = new RowKey();
  private final RowKey right = new RowKey();
  private final Comparator<Long> byKey = this::compare;

  /** @param scratch room for two times all references */
  ReferenceSort(TaskContext context, ResidentRows rows, KeyOrder order, LongArray scratch) {
    this.context = context;
    this.rows = rows;
    this.order = order;
    this.scratch = scratch;
  }

  /** Sorts all references, whose numbers are those of the first bytes; numbers are undefined afterwards. */
  void sort() {
    if (rows.size() > 1) {
      sort(0, rows.size(), 0);
    }
  }

  /** @param depth which eight bytes of the keys the numbers are made of; all before those are equal */
  private void sort(int from, int until, int depth) {
    context.killTaskIfInterrupted();
    int count = until - from;
    rows.copyReferences(from, count, scratch);
    int sorted = RadixSort.sortKeyPrefixArray(scratch, 0, count, 0, LAST_BYTE, false, false);
    rows.takeReferences(scratch, sorted, from, count);
    if (order.decidesAlone()) {
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
    if (until - from > SHORT_RUN && depth + 1 < MAX_DEPTH && order.goesOn(rows.number(from))
        && renumber(from, until, depth + 1)) {
      sort(from, until, depth + 1);
    } else {
      compareAll(from, until);
    }
  }

  /** Replaces the numbers by those of {@code depth}; false when no key has bytes that far. */
  private boolean renumber(int from, int until, int depth) {
    boolean any = false;
    for (int i = from; i < until; i++) {
      long address = rows.address(i);
      left.pointTo(null, address, ResidentRows.bytes(address));
      any |= left.length() > depth * Long.BYTES;
      rows.set(i, address, order.prefix(left, depth));
    }
    return any;
  }

  private void compareAll(int from, int until) {
    context.killTaskIfInterrupted();
    Long[] addresses = new Long[until - from];
    for (int i = from; i < until; i++) {
      addresses[i - from] = rows.address(i);
    }
    Arrays.sort(addresses, byKey);
    for (int i = from; i < until; i++) {
      rows.set(i, addresses[i - from], 0);
    }
  }

  private int compare(long one, long other) {
    left.pointTo(null, one, ResidentRows.bytes(one));
    right.pointTo(null, other, ResidentRows.bytes(other));
    return order.compare(left, right);
  }
}
