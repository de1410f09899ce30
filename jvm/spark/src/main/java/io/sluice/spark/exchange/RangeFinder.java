package io.sluice.spark.exchange;

import io.sluice.spark.sql.RowOrder;
import java.util.Arrays;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;

/**
 * The partition of a row by ranges of an order. Where the ranges begin is not known; but partitions rise along the
 * order, so a row between two rows of one partition is in that partition. For each partition this keeps the lowest and
 * the highest row that Spark's function has put there; rows between them are found, all others are asked for. Of {@code
 * n} rows in random order, about {@code 2 P ln(n / P)} are asked for with {@code P} partitions.
 *
 * <pre>
 *   order of rows   ───low══════high─────low═══high──────low════════high───►
 *                       partition 0       partition 1        partition 3
 * </pre>
 *
 * <p>Rows are compared by the number of the first part of the order; the rows themselves are kept where that number
 * does not decide, up to a limit in bytes. Where all kept rows begin with the same bytes, as paths do, it is the number
 * of the bytes behind them, until a row comes that begins with others. One thread.
 */
final class RangeFinder implements PartitionFinder {
  /** More partitions are not kept: rows of the others are asked for. */
  private static final int MOST_PARTITIONS = 8192;
  /** Bytes of kept rows. */
  private static final long MOST_BYTES = 4 << 20;
  /** After each so many rows: if half of them were asked for, this searches no more. */
  private static final int TRIAL_ROWS = 1 << 14;

  /** When so many rows were asked for, it is looked whether all rows begin with the same bytes. */
  private static final int ROWS_TO_SKIP = 128;
  /** No more bytes are skipped. */
  private static final int MOST_SKIPPED = 256;

  private final RowOrder order;
  /** The part whose numbers are kept. */
  private RowOrder.Part part;
  /**
   * Whether the part begins behind bytes that all kept rows have in common; no row of {@link #lowRows} and
   * {@link #highRows} is null then.
   */
  private boolean skips;
  private int learned;
  private int known;
  private int[] partitions = new int[16];
  // Numbers with the highest bit inverted, so that they compare as signed ones.
  private long[] lows = new long[16];
  private long[] highs = new long[16];
  // Null where the number decides, or where there was no room.
  private byte[][] lowRows = new byte[16][];
  private byte[][] highRows = new byte[16][];
  private long keptBytes;
  private int rows;
  private int asked;
  private boolean worthwhile = true;

  RangeFinder(RowOrder order) {
    this.order = order;
    this.part = order.first();
  }

  @Override
  public int find(UnsafeRow row) {
    if (!worthwhile) {
      return UNKNOWN;
    }
    if (++rows == TRIAL_ROWS) {
      worthwhile = asked < TRIAL_ROWS / 2;
      rows = 0;
      asked = 0;
    }
    if (skips && !isLikeKept(row)) {
      skipNothing();
    }
    long number = number(row);
    int at = lastFrom(row, number);
    if (at >= 0 && compare(row, number, highs[at], highRows[at], 1) <= 0) {
      return partitions[at];
    }
    asked++;
    return UNKNOWN;
  }

  private long number(UnsafeRow row) {
    return order.number(part, row.getBaseObject(), row.getBaseOffset(), row.getSizeInBytes()) ^ Long.MIN_VALUE;
  }

  private long number(byte[] kept) {
    return order.number(part, kept, Platform.BYTE_ARRAY_OFFSET, kept.length) ^ Long.MIN_VALUE;
  }

  private boolean isLikeKept(UnsafeRow row) {
    return order.areEqualBefore(
        part, row.getBaseObject(), row.getBaseOffset(), lowRows[0], Platform.BYTE_ARRAY_OFFSET);
  }

  /** Goes over to numbers of the bytes behind those that all kept rows have in common. */
  private void skipEqualBytes() {
    for (int i = 0; i < known; i++) {
      if (lowRows[i] == null || highRows[i] == null) {
        return;
      }
    }
    RowOrder.Part behind = behindEqualBytes();
    while (behind != part && behind.from() <= MOST_SKIPPED) {
      skips = true;
      useNumbersOf(behind);
      behind = behindEqualBytes();
    }
    if (skips && lows[0] == highs[known - 1]) {
      // The column has one value, or values that are equal in more bytes.
      skipNothing();
    }
  }

  private RowOrder.Part behindEqualBytes() {
    return order.behind(part, lows[0] ^ Long.MIN_VALUE, Long.numberOfLeadingZeros(lows[0] ^ highs[known - 1]));
  }

  private void skipNothing() {
    skips = false;
    useNumbersOf(order.first());
  }

  private void useNumbersOf(RowOrder.Part used) {
    part = used;
    for (int i = 0; i < known; i++) {
      lows[i] = number(lowRows[i]);
      highs[i] = number(highRows[i]);
    }
  }

  /** The last of the known partitions whose lowest row is not above {@code row}; -1 if there is none. */
  private int lastFrom(UnsafeRow row, long number) {
    int from = 0;
    int until = known;
    while (from < until) {
      int middle = from + until >>> 1;
      long low = lows[middle];
      if (low < number || low == number && compare(row, number, low, lowRows[middle], -1) >= 0) {
        from = middle + 1;
      } else {
        until = middle;
      }
    }
    return from - 1;
  }

  /**
   * Compares a row with a kept one.
   *
   * @param unknown returned where the number does not decide and the row was not kept
   */
  private int compare(UnsafeRow row, long number, long keptNumber, byte[] kept, int unknown) {
    if (number != keptNumber) {
      return Long.compare(number, keptNumber);
    }
    return decides(number) ? 0
        : kept == null ? unknown
            : order.compare(row.getBaseObject(), row.getBaseOffset(), row.getSizeInBytes(),
                kept, Platform.BYTE_ARRAY_OFFSET, kept.length, 0);
  }

  @Override
  public boolean learn(UnsafeRow row, int partition) {
    if (!worthwhile) {
      return true;
    }
    if (++learned == ROWS_TO_SKIP) {
      skipEqualBytes();
    }
    if (skips && (!isLikeKept(row) || keptBytes + 2L * row.getSizeInBytes() > MOST_BYTES)) {
      skipNothing();
    }
    long number = number(row);
    int at = Arrays.binarySearch(partitions, 0, known, partition);
    if (at < 0) {
      at = -at - 1;
      if (!fits(at - 1, at, number)) {
        return false;
      }
      if (known < MOST_PARTITIONS) {
        insert(at, row, number, partition);
      }
      return true;
    }
    if (!fits(at - 1, at + 1, number)) {
      return false;
    }
    extend(at, row, number);
    return true;
  }

  /** Whether a row's number can lie between two known partitions. */
  private boolean fits(int before, int after, long number) {
    return (before < 0 || highs[before] <= number) && (after >= known || number <= lows[after]);
  }

  private void insert(int at, UnsafeRow row, long number, int partition) {
    if (known == partitions.length) {
      grow(2 * known);
    }
    int moved = known - at;
    System.arraycopy(partitions, at, partitions, at + 1, moved);
    System.arraycopy(lows, at, lows, at + 1, moved);
    System.arraycopy(highs, at, highs, at + 1, moved);
    System.arraycopy(lowRows, at, lowRows, at + 1, moved);
    System.arraycopy(highRows, at, highRows, at + 1, moved);
    known++;
    partitions[at] = partition;
    lows[at] = number;
    highs[at] = number;
    lowRows[at] = keep(row, number, null);
    highRows[at] = keep(row, number, null);
  }

  private void grow(int length) {
    partitions = Arrays.copyOf(partitions, length);
    lows = Arrays.copyOf(lows, length);
    highs = Arrays.copyOf(highs, length);
    lowRows = Arrays.copyOf(lowRows, length);
    highRows = Arrays.copyOf(highRows, length);
  }

  private void extend(int at, UnsafeRow row, long number) {
    if (compare(row, number, lows[at], lowRows[at], 0) < 0) {
      lows[at] = number;
      lowRows[at] = keep(row, number, lowRows[at]);
    } else if (compare(row, number, highs[at], highRows[at], 0) > 0) {
      highs[at] = number;
      highRows[at] = keep(row, number, highRows[at]);
    }
  }

  /** Whether rows with this number are equal. */
  private boolean decides(long number) {
    return order.isEnd(order.undecided(part, number ^ Long.MIN_VALUE));
  }

  /** A copy of the row, if one is needed and there is room. */
  private byte[] keep(UnsafeRow row, long number, byte[] instead) {
    if (instead != null) {
      keptBytes -= instead.length;
    }
    int bytes = row.getSizeInBytes();
    if (decides(number) || keptBytes + bytes > MOST_BYTES) {
      return null;
    }
    keptBytes += bytes;
    byte[] copy = new byte[bytes];
    Platform.copyMemory(row.getBaseObject(), row.getBaseOffset(), copy, Platform.BYTE_ARRAY_OFFSET, bytes);
    return copy;
  }
}
