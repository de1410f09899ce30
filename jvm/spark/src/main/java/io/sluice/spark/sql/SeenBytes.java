package io.sluice.spark.sql;

/** What is known of the values of one column of bytes in the rows that were seen. One thread. */
final class SeenBytes {
  /** Numbers that begin fewer bytes later tell hardly more rows apart. */
  private static final int FEWEST_SKIPPED = 2;
  private static final int MOST_SKIPPED = 2 * Long.BYTES;

  private final SortColumn column;
  private final int index;
  /** The first bytes of the first value. */
  private long first;
  private long second;
  /** Bytes that all values begin with, zeros behind their ends included. */
  private int equal = MOST_SKIPPED;
  /** -1 before the first value. */
  private int longest = -1;
  private int shortest;
  private boolean endsWithZero;

  /** @param index of the column in its order */
  SeenBytes(SortColumn column, int index) {
    this.column = column;
    this.index = index;
  }

  int index() {
    return index;
  }

  /** Whether numbers change by what is known; if not, no further value changes that. */
  boolean tellsSomething() {
    return equal >= FEWEST_SKIPPED || isNumber();
  }

  /** The column, with what is known of it. */
  SortColumn known() {
    return isNumber() ? column.asNumber(skipped(), bytes()) : column.skipping(skipped());
  }

  /** Whether eight bytes have all that tells different values apart. */
  private boolean isNumber() {
    return bytes() <= Long.BYTES && (shortest == longest || !endsWithZero);
  }

  /** Bytes from the first one that may differ to the end of the longest value, one at least. */
  private int bytes() {
    return Math.max(1, longest - skipped());
  }

  private int skipped() {
    return equal < FEWEST_SKIPPED ? 0 : equal;
  }

  /** Looks at the value of a row. */
  void add(Object base, long row, long fields) {
    if (column.isNull(base, row)) {
      return;
    }
    int length = column.length(base, fields);
    long word = column.bytesFrom(base, row, fields, 0);
    if (longest < 0) {
      first = word;
      second = column.bytesFrom(base, row, fields, Long.BYTES);
      longest = length;
      shortest = length;
    } else if (length > longest) {
      longest = length;
    } else if (length < shortest) {
      shortest = length;
    }
    endsWithZero |= column.endsWithZero(base, row, fields);
    if (word != first) {
      equal = Math.min(equal, Long.numberOfLeadingZeros(word ^ first) / Byte.SIZE);
    } else if (equal > Long.BYTES) {
      long differing = second ^ column.bytesFrom(base, row, fields, Long.BYTES);
      equal = Math.min(equal, Long.BYTES + Long.numberOfLeadingZeros(differing) / Byte.SIZE);
    }
  }
}
