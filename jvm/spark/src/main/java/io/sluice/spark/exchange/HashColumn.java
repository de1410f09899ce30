package io.sluice.spark.exchange;

import java.io.Serializable;
import java.util.Optional;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DayTimeIntervalType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.sql.types.YearMonthIntervalType;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.bitset.BitSetMethods;
import org.apache.spark.unsafe.hash.Murmur3_x86_32;

/**
 * One column that rows are hashed by, and its hash as Spark's {@code Murmur3Hash} computes it from the column's value.
 * Immutable; any thread.
 */
public final class HashColumn implements Serializable {
  private static final long serialVersionUID = 1;

  /** What is hashed of a value, by types that are stored alike. */
  private enum Kind {
    BOOLEAN, BYTE, SHORT, INT, LONG, FLOAT, DOUBLE, BYTES, BYTE_AS_LONG, SHORT_AS_LONG, INT_AS_LONG
  }

  private final Kind kind;
  private final int ordinal;
  private final boolean nullable;

  private HashColumn(Kind kind, int ordinal, boolean nullable) {
    this.kind = kind;
    this.ordinal = ordinal;
    this.nullable = nullable;
  }

  /**
   * A column of the given type; empty for types whose hash is left to Spark: strings with a collation, nested and
   * user-defined types, calendar intervals.
   *
   * @param stored the column's type
   * @param hashed the type that its values are hashed as; a whole number may be stored in a narrower type
   * @param ordinal of the field
   * @param nullable if false, Spark does not look at the row's null bit, and so this does not either
   */
  public static Optional<HashColumn> of(DataType stored, DataType hashed, int ordinal, boolean nullable) {
    return kind(stored).flatMap(from -> kind(hashed).flatMap(to -> widened(from, to)))
        .map(kind -> new HashColumn(kind, ordinal, nullable));
  }

  /** Bytes, shorts and ints are hashed alike, longs in another way. */
  private static Optional<Kind> widened(Kind stored, Kind hashed) {
    if (stored == hashed) {
      return Optional.of(stored);
    }
    return switch (stored) {
      case BYTE -> hashed == Kind.SHORT || hashed == Kind.INT ? Optional.of(Kind.BYTE)
          : hashed == Kind.LONG ? Optional.of(Kind.BYTE_AS_LONG) : Optional.empty();
      case SHORT -> hashed == Kind.INT ? Optional.of(Kind.SHORT)
          : hashed == Kind.LONG ? Optional.of(Kind.SHORT_AS_LONG) : Optional.empty();
      case INT -> hashed == Kind.LONG ? Optional.of(Kind.INT_AS_LONG) : Optional.empty();
      default -> Optional.empty();
    };
  }

  private static Optional<Kind> kind(DataType type) {
    if (type instanceof BooleanType) {
      return Optional.of(Kind.BOOLEAN);
    }
    if (type instanceof ByteType) {
      return Optional.of(Kind.BYTE);
    }
    if (type instanceof ShortType) {
      return Optional.of(Kind.SHORT);
    }
    if (type instanceof IntegerType || type instanceof DateType || type instanceof YearMonthIntervalType) {
      return Optional.of(Kind.INT);
    }
    if (type instanceof LongType || type instanceof TimestampType || type instanceof DayTimeIntervalType
        || isLongOfNewerLines(type)) {
      return Optional.of(Kind.LONG);
    }
    if (type instanceof FloatType) {
      return Optional.of(Kind.FLOAT);
    }
    if (type instanceof DoubleType) {
      return Optional.of(Kind.DOUBLE);
    }
    // Equal only without a collation and without a limit of the length.
    if (DataTypes.StringType.equals(type) || type instanceof BinaryType) {
      return Optional.of(Kind.BYTES);
    }
    if (type instanceof DecimalType decimal) {
      // The bytes of a long decimal in a row are those that Spark hashes: its unscaled value's.
      return Optional.of(decimal.precision() <= 18 ? Kind.LONG : Kind.BYTES);
    }
    return Optional.empty();
  }

  /** TIMESTAMP_NTZ and TIME: the first lines have no such class. */
  private static boolean isLongOfNewerLines(DataType type) {
    String name = type.getClass().getName();
    return name.equals("org.apache.spark.sql.types.TimestampNTZType$")
        || name.equals("org.apache.spark.sql.types.TimeType");
  }

  /**
   * The hash of the row's value, begun with that of the columns before; null has none.
   *
   * @param row where the row starts
   * @param fields where its first field is
   */
  int hash(Object base, long row, long fields, int seed) {
    if (nullable && BitSetMethods.isSet(base, row, ordinal)) {
      return seed;
    }
    long at = fields + (long) ordinal * Long.BYTES;
    return switch (kind) {
      case BOOLEAN -> Murmur3_x86_32.hashInt(Platform.getByte(base, at) == 0 ? 0 : 1, seed);
      case BYTE -> Murmur3_x86_32.hashInt(Platform.getByte(base, at), seed);
      case SHORT -> Murmur3_x86_32.hashInt(Platform.getShort(base, at), seed);
      case INT -> Murmur3_x86_32.hashInt(Platform.getInt(base, at), seed);
      case LONG -> Murmur3_x86_32.hashLong(Platform.getLong(base, at), seed);
      case BYTE_AS_LONG -> Murmur3_x86_32.hashLong(Platform.getByte(base, at), seed);
      case SHORT_AS_LONG -> Murmur3_x86_32.hashLong(Platform.getShort(base, at), seed);
      case INT_AS_LONG -> Murmur3_x86_32.hashLong(Platform.getInt(base, at), seed);
      case FLOAT -> Murmur3_x86_32.hashInt(bits(Platform.getFloat(base, at)), seed);
      case DOUBLE -> Murmur3_x86_32.hashLong(bits(Platform.getDouble(base, at)), seed);
      case BYTES -> hashBytes(base, row, Platform.getLong(base, at), seed);
    };
  }

  /** Zeros are one value, NaNs too. */
  private static int bits(float value) {
    return value == 0 ? 0 : Float.floatToIntBits(value);
  }

  private static long bits(double value) {
    return value == 0 ? 0 : Double.doubleToLongBits(value);
  }

  private static int hashBytes(Object base, long row, long offsetAndLength, int seed) {
    return Murmur3_x86_32.hashUnsafeBytes(
        base, row + (offsetAndLength >>> Integer.SIZE), (int) offsetAndLength, seed);
  }
}
