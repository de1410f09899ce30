package io.sluice.spark.sql;

import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * The order of a sort of binary rows by columns; a part of it is numbered by as many columns as fit 64 bits. Where
 * there are several columns, integers in it have as many bits as their values need ({@link PackedInteger}).
 *
 * <pre>
 *   columns   a: int, b: long nullable, c: string
 *   parts     (a)   |a 6 to 36|b's marker 1|b 7 to 69|c      if equal: columns that are there to their end are decided
 *             (b)   |marker 1|b 7 to 69|c                    if equal, and b is not there to its end:
 *             (b')  |b 64|                                   if equal: b is decided
 *             (c'), (c' 8), (c' 16) …                        eight bytes of c each
 * </pre>
 *
 * <p>Immutable; any thread.
 */
public final class ColumnOrder implements RowOrder {
  private static final long serialVersionUID = 1;
  /** A number that begins fewer bytes later tells hardly more rows apart. */
  private static final int FEWEST_SKIPPED = 2;

  private final SortColumn[] columns;
  private final int fields;
  private final int bitSetBytes;
  /**
   * Whether integers are packed. With a single column there is no other column to make room for, and the sorter keeps
   * its nulls apart.
   */
  private final boolean packs;

  /** @param fields of the rows, also those that are no columns of the order */
  public ColumnOrder(List<SortColumn> columns, int fields) {
    this(columns.toArray(new SortColumn[0]), fields);
  }

  ColumnOrder(SortColumn[] columns, int fields) {
    this.columns = columns;
    this.fields = fields;
    this.bitSetBytes = UnsafeRow.calculateBitSetWidthInBytes(fields);
    this.packs = columns.length > 1;
  }

  /** The columns, the first one that decides first. */
  public List<SortColumn> columns() {
    return List.of(columns);
  }

  @Override
  public Optional<SeenValues> seenValues() {
    return packs ? SeenValues.of(columns, fields) : Optional.empty();
  }

  @Override
  public int fields() {
    return fields;
  }

  @Override
  public Part first() {
    return new Part(0, 0, true);
  }

  @Override
  public boolean hasOnePart() {
    return false;
  }

  @Override
  public boolean isOneNumber() {
    return columns.length == 1 && !columns[0].hasBytes();
  }

  @Override
  public boolean isNull(Object base, long row) {
    return columns[0].isNull(base, row);
  }

  @Override
  public boolean areNullsFirst() {
    return columns[0].areNullsFirst();
  }

  @Override
  public long number(Part part, Object base, long row, int bytes) {
    long fields = row + bitSetBytes;
    SortColumn first = columns[part.column()];
    if (part.from() > 0) {
      return first.isNull(base, row) ? 0 : first.bytesFrom(base, row, fields, part.from());
    }
    long number = 0;
    int free = Long.SIZE;
    for (int i = part.column(); i < columns.length && free > 0; i++) {
      SortColumn column = columns[i];
      boolean withMarker = part.marked() || i > part.column();
      boolean isNull = column.isNull(base, row);
      if (withMarker && column.isNullable()) {
        free--;
        number |= column.marker(isNull) << free;
        if (isNull || free == 0) {
          continue;
        }
      }
      if (withMarker && packs && column.isInteger()) {
        long value = column.integer(base, fields);
        number |= column.packed(value) >>> Long.SIZE - free;
        free -= column.packedBits(value);
      } else {
        number |= isNull ? 0 : column.number(base, row, fields) >>> Long.SIZE - free;
        free -= column.hasBytes() ? free : column.bits();
      }
    }
    return number;
  }

  @Override
  public int undecided(Part part, long number) {
    int free = Long.SIZE;
    for (int i = part.column(); i < columns.length; i++) {
      SortColumn column = columns[i];
      boolean withMarker = part.marked() || i > part.column();
      if (withMarker && column.isNullable() && free > 0) {
        free--;
        if ((number >>> free & 1) == column.marker(true)) {
          continue;
        }
      }
      if (free == 0 || column.hasBytes()) {
        return i;
      }
      int bits = withMarker && packs && column.isInteger()
          ? column.bitsOfPacked(number << Long.SIZE - free) : column.bits();
      if (bits > free) {
        return i;
      }
      free -= bits;
    }
    return columns.length;
  }

  @Override
  public Part behind(Part part, long number, int equalBits) {
    SortColumn column = columns[part.column()];
    boolean withMarker = part.marked() && column.isNullable();
    int bytes = (withMarker ? equalBits - 1 : equalBits) / Byte.SIZE;
    boolean areNull = withMarker && number >>> Long.SIZE - 1 == column.marker(true);
    return column.hasBytes() && bytes >= FEWEST_SKIPPED && !areNull
        ? new Part(part.column(), begin(part, column) + bytes, false) : part;
  }

  @Override
  public int end(Part part) {
    return begin(part, columns[part.column()]) + Long.BYTES;
  }

  /** The first byte of a part that begins with a column of bytes. */
  private static int begin(Part part, SortColumn column) {
    return part.from() > 0 ? part.from() : column.skipped();
  }

  @Override
  public boolean areEqualBefore(Part part, Object leftBase, long left, Object rightBase, long right) {
    SortColumn column = columns[part.column()];
    boolean isNull = column.isNull(leftBase, left);
    if (isNull || column.isNull(rightBase, right)) {
      return isNull && column.isNull(rightBase, right);
    }
    for (int from = 0; from < part.from(); from += Long.BYTES) {
      long differing = column.bytesFrom(leftBase, left, left + bitSetBytes, from)
          ^ column.bytesFrom(rightBase, right, right + bitSetBytes, from);
      int beyond = Math.max(0, from + Long.BYTES - part.from());
      if (differing >>> beyond * Byte.SIZE != 0) {
        return false;
      }
    }
    return true;
  }

  @Override
  public boolean isEnd(int column) {
    return column == columns.length;
  }

  @Override
  public boolean isOfBytes(Part part) {
    return !part.marked() && columns[part.column()].hasBytes();
  }

  @Override
  public int length(Part part, Object base, long row) {
    SortColumn column = columns[part.column()];
    return column.isNull(base, row) ? 0 : column.length(base, row + bitSetBytes);
  }

  @Override
  public int compare(
      Object leftBase, long left, int leftBytes, Object rightBase, long right, int rightBytes, int from) {
    for (int i = from; i < columns.length; i++) {
      int compared = columns[i].compare(leftBase, left, rightBase, right, bitSetBytes);
      if (compared != 0) {
        return compared;
      }
    }
    return 0;
  }
}
