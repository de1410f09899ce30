package io.sluice.spark.sql;

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

/** How the values of a type lie in a binary row. Types that lie alike compare alike. */
public enum PhysicalType {
  BOOLEAN(1),
  BYTE(8),
  SHORT(16),
  INT(32),
  LONG(64),
  FLOAT(32),
  DOUBLE(64),
  /** Any number of bytes, compared as unsigned numbers. */
  BYTES(0),
  /** The bytes of an unscaled decimal that may not fit a long: two's complement, the highest first. */
  LONG_DECIMAL(0);

  private static final int MOST_DIGITS_OF_LONG = 18;

  private final int bits;

  PhysicalType(int bits) {
    this.bits = bits;
  }

  /** Bits of a value; 0 for bytes, of which each value has its own number. */
  public int bits() {
    return bits;
  }

  /**
   * Empty for types whose order and hash are left to Spark: strings with a collation, nested and user-defined types,
   * calendar intervals.
   */
  public static Optional<PhysicalType> of(DataType type) {
    if (type instanceof BooleanType) {
      return Optional.of(BOOLEAN);
    }
    if (type instanceof ByteType) {
      return Optional.of(BYTE);
    }
    if (type instanceof ShortType) {
      return Optional.of(SHORT);
    }
    if (type instanceof IntegerType || type instanceof DateType || type instanceof YearMonthIntervalType) {
      return Optional.of(INT);
    }
    if (type instanceof LongType || type instanceof TimestampType || type instanceof DayTimeIntervalType
        || isLongOfNewerLines(type)) {
      return Optional.of(LONG);
    }
    if (type instanceof FloatType) {
      return Optional.of(FLOAT);
    }
    if (type instanceof DoubleType) {
      return Optional.of(DOUBLE);
    }
    // Equal only without a collation and without a limit of the length.
    if (DataTypes.StringType.equals(type) || type instanceof BinaryType) {
      return Optional.of(BYTES);
    }
    if (type instanceof DecimalType decimal) {
      return Optional.of(decimal.precision() <= MOST_DIGITS_OF_LONG ? LONG : LONG_DECIMAL);
    }
    return Optional.empty();
  }

  /** TIMESTAMP_NTZ and TIME: the first lines have no such class. */
  private static boolean isLongOfNewerLines(DataType type) {
    String name = type.getClass().getName();
    return name.equals("org.apache.spark.sql.types.TimestampNTZType$")
        || name.equals("org.apache.spark.sql.types.TimeType");
  }
}
