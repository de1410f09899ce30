package io.sluice.spark.sql;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * What is known of the values of rows that a sorter has seen, in those columns of bytes of its order that are among the
 * first 64 bits: how many bytes all values begin with, and how long they are. For these rows the order's numbers leave
 * the equal bytes out, and have other columns behind short values.
 *
 * <pre>
 *   columns              a: int, b: string ("item-07", "item-12", …), c: int
 *   number               |a 6 to 36|b, 28 to 58 bits: "item-0…"|
 *   number of seen rows  |a 6 to 36|b, 16: "07"|c 6 to 36|
 * </pre>
 *
 * <p>One thread.
 */
public final class SeenValues {
  /** Columns before one of bytes must leave some of the 64 bits to it if their values are small. */
  private static final int FEWEST_BITS_OF_INTEGER = 6;

  private final SortColumn[] columns;
  private final int fields;
  private final int bitSetBytes;
  private final List<SeenBytes> seen;

  private SeenValues(SortColumn[] columns, int fields, List<SeenBytes> seen) {
    this.columns = columns;
    this.fields = fields;
    this.bitSetBytes = UnsafeRow.calculateBitSetWidthInBytes(fields);
    this.seen = seen;
  }

  /** Of an order by several columns; empty if none of bytes is among the first 64 bits. */
  static Optional<SeenValues> of(SortColumn[] columns, int fields) {
    List<SeenBytes> seen = new ArrayList<>();
    int bits = 0;
    for (int i = 0; i < columns.length && bits < Long.SIZE; i++) {
      if (columns[i].hasBytes()) {
        seen.add(new SeenBytes(columns[i], i));
      } else {
        bits += columns[i].isInteger() ? FEWEST_BITS_OF_INTEGER : columns[i].bits();
      }
    }
    return seen.isEmpty() ? Optional.empty() : Optional.of(new SeenValues(columns, fields, seen));
  }

  /** Looks at a row. */
  void add(Object base, long row) {
    for (SeenBytes column : seen) {
      if (column.tellsSomething()) {
        column.add(base, row, row + bitSetBytes);
      }
    }
  }

  /** The order for the rows that were seen; empty if its numbers would be the same. */
  Optional<RowOrder> order() {
    SortColumn[] known = columns.clone();
    boolean better = false;
    for (SeenBytes column : seen) {
      if (column.tellsSomething()) {
        known[column.index()] = column.known();
        better = true;
      }
    }
    return better ? Optional.of(new ColumnOrder(known, fields)) : Optional.empty();
  }
}
