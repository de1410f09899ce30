package io.sluice.spark.sql;

import io.sluice.spark.sql.RowOrder.Part;
import org.apache.spark.memory.TaskMemoryManager;
import org.apache.spark.unsafe.Platform;

/**
 * Puts the numbers of several parts of an order into one number of 64 bits, where each is of a small range, as most
 * keys are. Rows that are equal in the first part are then told apart without being read again.
 *
 * <pre>
 *   first part   8000 0000 0000 0100 to 8000 0000 0000 3A7F      14 bits above the least
 *   next part    8000 0000 0000 0000 to 8000 0000 0052 D687      23 bits above the least
 *   joined       |14 bits|23 bits|
 * </pre>
 *
 * One thread.
 */
final class JoinedNumbers {
  /** Fewer rows are sorted before this would pay. */
  private static final int FEWEST_ROWS = 256;
  /** So many rows are looked at before the numbers of all are computed. */
  private static final int SAMPLE = 64;
  /** With so many more bits than are needed to count the rows, most rows have a number of their own. */
  private static final int SPARE_BITS = 2;

  private final TaskMemoryManager memory;
  private final RowOrder order;
  private final References references;
  /** Where the numbers of the next part are collected, in the array of the references. */
  private final long scratch;
  private final Object base;

  /** @param scratch offset in the references' array of room for a number of each; its contents are lost */
  JoinedNumbers(TaskMemoryManager memory, RowOrder order, References references, long scratch) {
    this.memory = memory;
    this.order = order;
    this.references = references;
    this.base = references.array().getBaseObject();
    this.scratch = scratch;
  }

  /**
   * Joins the numbers of further parts to those of references, as long as they fit and tell more rows apart.
   *
   * @param part that the numbers are of
   * @return the last part that they stand for then; {@code part} if none was joined
   */
  Part join(int from, int until, Part part) {
    Part last = part;
    if (until - from < FEWEST_ROWS || order.hasOnePart()) {
      return last;
    }
    Part next = partAfter(last);
    while (next != null && joinNext(from, until, next)) {
      last = next;
      next = partAfter(last);
    }
    return last;
  }

  /** Null at the order's end, and for the rest of a column of bytes. */
  private Part partAfter(Part part) {
    int column = order.undecided(part);
    if (order.isEnd(column)) {
      return null;
    }
    if (column > part.column()) {
      return new Part(column, 0, true);
    }
    return order.isOfBytes(part) ? null : new Part(column, 0, false);
  }

  private boolean joinNext(int from, int until, Part next) {
    Spread here = new Spread();
    for (int i = from; i < until; i++) {
      here.add(references.number(i));
    }
    int needed = Integer.SIZE - Integer.numberOfLeadingZeros(until - from) + SPARE_BITS;
    if (here.width() == 0 || here.width() >= needed || here.width() + sample(from, until, next).width() > Long.SIZE) {
      return false;
    }
    Spread nexts = collect(from, until, next);
    if (here.width() + nexts.width() > Long.SIZE) {
      return false;
    }
    replace(from, until, here, nexts);
    return true;
  }

  /** The numbers of {@code part} of some of the rows. */
  private Spread sample(int from, int until, Part part) {
    Spread spread = new Spread();
    int step = (until - from) / SAMPLE;
    for (int i = from; i < until; i += step) {
      spread.add(number(i, part));
    }
    return spread;
  }

  /** Collects the numbers of {@code part} of all rows, which lie in this order in memory. */
  private Spread collect(int from, int until, Part part) {
    Spread spread = new Spread();
    for (int i = from; i < until; i++) {
      long number = number(i, part);
      spread.add(number);
      Platform.putLong(base, scratch + (long) (i - from) * Long.BYTES, number);
    }
    return spread;
  }

  private long number(int index, Part part) {
    long address = references.address(index);
    Object page = memory.getPage(address);
    long row = BinaryRowSorter.row(memory, address);
    return order.number(part, page, row, BinaryRowSorter.bytes(page, row));
  }

  private void replace(int from, int until, Spread here, Spread nexts) {
    int shift = nexts.width();
    for (int i = from; i < until; i++) {
      long next = Platform.getLong(base, scratch + (long) (i - from) * Long.BYTES);
      references.set(i, references.address(i), here.narrow(references.number(i)) << shift | nexts.narrow(next));
    }
  }

  /** What a set of numbers has in common: their lowest bits, and that they are not below the least of them. */
  private static final class Spread {
    private long first;
    private long differing;
    private long least = -1L;
    private long greatest;
    private boolean any;

    void add(long number) {
      if (!any) {
        any = true;
        first = number;
      }
      differing |= first ^ number;
      least = Long.compareUnsigned(number, least) < 0 ? number : least;
      greatest = Long.compareUnsigned(number, greatest) > 0 ? number : greatest;
    }

    /** Bits of the greatest narrow number. */
    int width() {
      return differing == 0 ? 0 : Long.SIZE - Long.numberOfLeadingZeros(narrow(greatest));
    }

    /** The number less the least one, without the lowest bits, which are the same in all; in the same order. */
    long narrow(long number) {
      return differing == 0 ? 0 : number - least >>> Long.numberOfTrailingZeros(differing);
    }
  }
}
