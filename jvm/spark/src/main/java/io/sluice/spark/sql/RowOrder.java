package io.sluice.spark.sql;

import java.io.Serializable;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * The order of a sort of binary rows, column by column, and numbers of 64 bits that stand for parts of it: rows with a
 * lower number (unsigned) come first, and those with the same number are told apart by the number of the next part.
 *
 * <pre>
 *   columns   a: int, b: long nullable, c: string
 *   parts     (a)   |a 32|b's marker 1|b 31|      equal: a is decided
 *             (b)   |marker 1|b 63|                equal: nothing more is decided, so without the marker:
 *             (b')  |b 64|                         equal: b is decided
 *             (c'), (c' 8), (c' 16) …              eight bytes of c each
 * </pre>
 *
 * <p>Immutable; any thread.
 */
public final class RowOrder implements Serializable {
  private static final long serialVersionUID = 1;

  /**
   * A part of the order; all rows that it is asked of are equal in the columns and bytes before it.
   *
   * @param column the first of the columns
   * @param from the first of the bytes, in a column of bytes
   * @param marked whether the column's null marker is in the number; if not, all rows have a value or none has
   */
  record Part(int column, int from, boolean marked) {}

  private final SortColumn[] columns;
  private final int fields;
  private final int bitSetBytes;

  /** @param fields of the rows, also those that are no columns of the order */
  public RowOrder(List<SortColumn> columns, int fields) {
    this.columns = columns.toArray(new SortColumn[0]);
    this.fields = fields;
    this.bitSetBytes = UnsafeRow.calculateBitSetWidthInBytes(fields);
  }

  /** Fields of the rows. */
  int fields() {
    return fields;
  }

  Part first() {
    return new Part(0, 0, true);
  }

  /** Whether a number has all of a value of the only column, if rows without one are kept apart. */
  boolean isOneNumber() {
    return columns.length == 1 && !columns[0].hasBytes();
  }

  boolean isNull(Object base, long row) {
    return columns[0].isNull(base, row);
  }

  boolean areNullsFirst() {
    return columns[0].areNullsFirst();
  }

  /** The number of {@code part} of a row. */
  long number(Part part, Object base, long row) {
    long fields = row + bitSetBytes;
    SortColumn first = columns[part.column()];
    if (part.from() > 0) {
      return first.isNull(base, row) ? 0 : first.bytesFrom(base, row, fields, part.from());
    }
    long number = 0;
    int free = Long.SIZE;
    for (int i = part.column(); i < columns.length && free > 0; i++) {
      SortColumn column = columns[i];
      boolean isNull = column.isNull(base, row);
      if (column.isNullable() && (part.marked() || i > part.column())) {
        free--;
        number |= column.marker(isNull) << free;
      }
      if (free > 0 && !isNull) {
        number |= column.number(base, row, fields) >>> Long.SIZE - free;
      }
      free -= column.hasBytes() ? free : column.bits();
    }
    return number;
  }

  /**
   * The first column of which two rows with the same number of {@code part} may differ; the number of columns if none.
   */
  int undecided(Part part) {
    int free = Long.SIZE;
    for (int i = part.column(); i < columns.length; i++) {
      SortColumn column = columns[i];
      free -= column.isNullable() && (part.marked() || i > part.column()) ? 1 : 0;
      if (column.hasBytes() || column.bits() > free) {
        return i;
      }
      free -= column.bits();
    }
    return columns.length;
  }

  boolean isEnd(int column) {
    return column == columns.length;
  }

  /** Whether the column is one of bytes of which {@code part} has some, without the marker. */
  boolean isOfBytes(Part part) {
    return !part.marked() && columns[part.column()].hasBytes();
  }

  /** Bytes of a row's value in the first column of a part; 0 of null. */
  int length(Part part, Object base, long row) {
    SortColumn column = columns[part.column()];
    return column.isNull(base, row) ? 0 : column.length(base, row + bitSetBytes);
  }

  /** Compares two rows, which are equal in the columns before {@code from}. */
  int compare(Object leftBase, long left, Object rightBase, long right, int from) {
    for (int i = from; i < columns.length; i++) {
      int compared = columns[i].compare(leftBase, left, rightBase, right, bitSetBytes);
      if (compared != 0) {
        return compared;
      }
    }
    return 0;
  }
}
