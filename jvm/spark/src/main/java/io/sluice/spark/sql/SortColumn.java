package io.sluice.spark.sql;

import java.io.Serializable;
import java.util.Optional;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.bitset.BitSetMethods;

/**
 * One column of an order of binary rows: where its values are, how they compare, where nulls go. Immutable; any thread.
 *
 * <p>A value is seen as unsigned bits, the highest first, that compare as Spark compares the values: for numbers as
 * many bits as the type has, or packed ({@link PackedInteger}), for strings, binary values and long decimals their
 * bytes. In descending order all bits are inverted. A null has no bits; it is told apart by a marker of its own, whose
 * order does not depend on the direction. What is known of some rows' values makes the bits fewer for those rows
 * ({@link SeenValues}).
 */
public final class SortColumn implements Serializable {
  private static final long serialVersionUID = 1;

  private static final int LONG_DECIMAL_BYTES = 16;

  private final PhysicalType type;
  private final int ordinal;
  private final boolean nullable;
  private final boolean descending;
  private final boolean nullsFirst;
  private final int bits;
  private final int skipped;

  private SortColumn(
      PhysicalType type, int ordinal, boolean nullable, boolean descending, boolean nullsFirst, int bits, int skipped) {
    this.type = type;
    this.ordinal = ordinal;
    this.nullable = nullable;
    this.descending = descending;
    this.nullsFirst = nullsFirst;
    this.bits = bits;
    this.skipped = skipped;
  }

  /**
   * A column of the given type; empty for types whose order is left to Spark: strings with a collation, nested and
   * user-defined types, calendar intervals.
   *
   * @param ordinal of the field
   * @param nullable if false, Spark does not look at the row's null bit, and so this does not either
   */
  public static Optional<SortColumn> of(
      DataType type, int ordinal, boolean nullable, boolean descending, boolean nullsFirst) {
    return PhysicalType.of(type)
        .map(stored -> new SortColumn(stored, ordinal, nullable, descending, nullsFirst, stored.bits(), 0));
  }

  /**
   * A column of bytes for values that are equal in the first {@code skipped} bytes: their numbers begin behind those.
   */
  SortColumn skipping(int skipped) {
    return new SortColumn(type, ordinal, nullable, descending, nullsFirst, 0, skipped);
  }

  /**
   * As {@link #skipping}, for values of which the next {@code bytes} bytes, with zeros behind shorter values, tell all
   * apart that are different: it is a column of numbers for them.
   */
  SortColumn asNumber(int skipped, int bytes) {
    return new SortColumn(type, ordinal, nullable, descending, nullsFirst, bytes * Byte.SIZE, skipped);
  }

  /** Bits of a value; 0 for bytes, of which there are {@link #length}. */
  int bits() {
    return bits;
  }

  boolean hasBytes() {
    return bits == 0;
  }

  /** Bytes that lie before those of {@link #number}. */
  int skipped() {
    return skipped;
  }

  boolean isNullable() {
    return nullable;
  }

  /** Which field of the rows it is. */
  public int ordinal() {
    return ordinal;
  }

  /** Whether larger values come first. */
  public boolean isDescending() {
    return descending;
  }

  /** Whether nulls come before all values. */
  public boolean areNullsFirst() {
    return nullsFirst;
  }

  boolean isNull(Object base, long row) {
    return nullable && BitSetMethods.isSet(base, row, ordinal);
  }

  /** The marker of a row: 0 or 1, the lower one first. */
  long marker(boolean isNull) {
    return isNull == nullsFirst ? 0 : 1;
  }

  /**
   * The value's bits, from the highest bit of the result on; the bits below them are zeros. The value is not null.
   *
   * @param fields where the row's first field is
   */
  long number(Object base, long row, long fields) {
    long at = fields + (long) ordinal * Long.BYTES;
    long number = switch (type) {
      case BOOLEAN -> Platform.getByte(base, at) == 0 ? 0 : Long.MIN_VALUE;
      case BYTE -> (long) Platform.getByte(base, at) << 56 ^ Long.MIN_VALUE;
      case SHORT -> (long) Platform.getShort(base, at) << 48 ^ Long.MIN_VALUE;
      case INT -> (long) Platform.getInt(base, at) << 32 ^ Long.MIN_VALUE;
      case LONG -> Platform.getLong(base, at) ^ Long.MIN_VALUE;
      case FLOAT -> (long) ordered(Platform.getFloat(base, at)) << 32;
      case DOUBLE -> ordered(Platform.getDouble(base, at));
      case BYTES, LONG_DECIMAL -> bytes(base, row, Platform.getLong(base, at), skipped);
    };
    return descending ? ~number & mask() : number;
  }

  /** Whether {@link #integer} and what follows may be called. */
  boolean isInteger() {
    return type == PhysicalType.INT || type == PhysicalType.LONG;
  }

  /** The value of an integer, which is not null. */
  long integer(Object base, long fields) {
    long at = fields + (long) ordinal * Long.BYTES;
    return type == PhysicalType.INT ? Platform.getInt(base, at) : Platform.getLong(base, at);
  }

  /** An integer's packed bits, from the highest bit of the result on. */
  long packed(long value) {
    long packed = PackedInteger.pack(value, type.bits());
    return descending ? ~packed & -1L << Long.SIZE - Math.min(Long.SIZE, packedBits(value)) : packed;
  }

  int packedBits(long value) {
    return PackedInteger.bits(value, type.bits());
  }

  /** How many bits the packed integer has that starts at the highest bit of {@code bits}, as far as those tell. */
  int bitsOfPacked(long bits) {
    return PackedInteger.bitsOfPacked(descending ? ~bits : bits, type.bits());
  }

  private long mask() {
    return bits == 0 ? -1L : -1L << Long.SIZE - bits;
  }

  /** As an unsigned number. Spark's order: zeros are equal, all NaNs are equal and the greatest. */
  private static int ordered(float value) {
    int bits = value == 0 ? 0 : Float.floatToIntBits(value);
    return bits ^ (bits >> Integer.SIZE - 1 | Integer.MIN_VALUE);
  }

  private static long ordered(double value) {
    long bits = value == 0 ? 0 : Double.doubleToLongBits(value);
    return bits ^ (bits >> Long.SIZE - 1 | Long.MIN_VALUE);
  }

  /** Eight bytes of the value from {@code from} on, as {@link #number}; zeros where it has no more. It is not null. */
  long bytesFrom(Object base, long row, long fields, int from) {
    long number = bytes(base, row, Platform.getLong(base, fields + (long) ordinal * Long.BYTES), from);
    return descending ? ~number : number;
  }

  /** Bytes of the value; it is not null. */
  int length(Object base, long fields) {
    return type == PhysicalType.LONG_DECIMAL ? LONG_DECIMAL_BYTES
        : (int) Platform.getLong(base, fields + (long) ordinal * Long.BYTES);
  }

  /**
   * Whether the value ends with a zero, so that it may be another one with zeros behind it. It is not null. Decimals,
   * which have the same length, count as ending with something else.
   */
  boolean endsWithZero(Object base, long row, long fields) {
    long offsetAndLength = Platform.getLong(base, fields + (long) ordinal * Long.BYTES);
    int length = (int) offsetAndLength;
    return type != PhysicalType.LONG_DECIMAL && length > 0
        && Platform.getByte(base, row + (offsetAndLength >>> Integer.SIZE) + length - 1) == 0;
  }

  private long bytes(Object base, long row, long offsetAndLength, int from) {
    long offset = offsetAndLength >>> Integer.SIZE;
    int length = (int) offsetAndLength;
    if (type == PhysicalType.LONG_DECIMAL) {
      return decimalBytes(base, row + offset, length, from);
    }
    int left = length - from;
    if (left >= Long.BYTES) {
      return Long.reverseBytes(Platform.getLong(base, row + offset + from));
    }
    return left <= 0 ? 0 : offset % Long.BYTES == 0 ? lastBytesOfWords(base, row + offset, from, left)
        : lastBytes(base, row + offset + from, left);
  }

  /**
   * The last bytes of a value, fewer than eight, the first one the highest, with zeros behind them. The row has whole
   * words from the value's start at {@code at} on.
   */
  private static long lastBytesOfWords(Object base, long at, int from, int left) {
    int into = from % Long.BYTES;
    long word = Long.reverseBytes(Platform.getLong(base, at + from - into)) << Byte.SIZE * into;
    if (into + left > Long.BYTES) {
      word |= Long.reverseBytes(Platform.getLong(base, at + from - into + Long.BYTES))
          >>> Long.SIZE - Byte.SIZE * into;
    }
    return word & -1L << Long.SIZE - Byte.SIZE * left;
  }

  private static long lastBytes(Object base, long at, int left) {
    long word = 0;
    for (int i = 0; i < left; i++) {
      word |= (Platform.getByte(base, at + i) & 0xFFL) << Long.SIZE - Byte.SIZE * (i + 1);
    }
    return word;
  }

  /** Of a two's complement number, the highest byte first, as if it had 16 bytes, with its sign inverted. */
  private static long decimalBytes(Object base, long at, int length, int from) {
    boolean negative = length > 0 && Platform.getByte(base, at) < 0;
    long word = 0;
    for (int i = from; i < from + Long.BYTES; i++) {
      int source = i - (LONG_DECIMAL_BYTES - length);
      long digit = i >= LONG_DECIMAL_BYTES ? 0 : source >= 0 ? Platform.getByte(base, at + source) & 0xFF
          : negative ? 0xFF : 0;
      word = word << Byte.SIZE | (i == 0 ? digit ^ 0x80 : digit);
    }
    return word;
  }

  /** Compares the values of two rows as Spark does. */
  int compare(Object leftBase, long left, Object rightBase, long right, int bitSetBytes) {
    boolean leftNull = isNull(leftBase, left);
    boolean rightNull = isNull(rightBase, right);
    if (leftNull || rightNull) {
      return leftNull && rightNull ? 0 : Long.compare(marker(leftNull), marker(rightNull));
    }
    long leftFields = left + bitSetBytes;
    long rightFields = right + bitSetBytes;
    int compared = Long.compareUnsigned(
        number(leftBase, left, leftFields), number(rightBase, right, rightFields));
    return compared != 0 || !hasBytes() ? compared : compareBytes(leftBase, left, rightBase, right, bitSetBytes);
  }

  /** The first eight bytes are equal, or both have fewer. */
  private int compareBytes(Object leftBase, long left, Object rightBase, long right, int bitSetBytes) {
    int leftLength = length(leftBase, left + bitSetBytes);
    int rightLength = length(rightBase, right + bitSetBytes);
    for (int from = Long.BYTES; from < Math.min(leftLength, rightLength); from += Long.BYTES) {
      int compared = Long.compareUnsigned(bytesFrom(leftBase, left, left + bitSetBytes, from),
          bytesFrom(rightBase, right, right + bitSetBytes, from));
      if (compared != 0) {
        return compared;
      }
    }
    return descending ? Integer.compare(rightLength, leftLength) : Integer.compare(leftLength, rightLength);
  }
}
