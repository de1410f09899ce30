package io.sluice.spark.columnar;

import io.sluice.spark.sql.PhysicalType;
import java.util.Optional;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StringType;

/** How the values of a type lie in a vector of Spark's. */
enum ValueLayout {
  /** A byte in Spark's own vectors, a bit in Arrow's. */
  BOOLEAN(0),
  BYTE(1),
  SHORT(2),
  INT(4),
  LONG(8),
  FLOAT(4),
  DOUBLE(8),
  /** Unscaled, of at most 9 digits. */
  INT_DECIMAL(4),
  /** Unscaled, of at most 18 digits. */
  LONG_DECIMAL(8),
  /** Bytes in Spark's own vectors, 16 bytes in Arrow's. */
  WIDE_DECIMAL(16),
  /** Bytes of UTF-8, or of what Spark takes for that. */
  TEXT(0),
  BYTES(0);

  private static final int MOST_DIGITS_OF_INT = 9;

  private final int width;

  ValueLayout(int width) {
    this.width = width;
  }

  /** Bytes of a value in a buffer of values; 0 where values have no width in bytes. */
  int width() {
    return width;
  }

  /** Whether values have lengths of their own. */
  boolean isVariable() {
    return this == TEXT || this == BYTES;
  }

  /** Whether Spark's own vectors store values of both in the same way: they read decimals as the plan's type says. */
  boolean liesAs(ValueLayout other) {
    return stored() == other.stored();
  }

  private ValueLayout stored() {
    return switch (this) {
      case INT_DECIMAL -> INT;
      case LONG_DECIMAL -> LONG;
      case WIDE_DECIMAL, TEXT -> BYTES;
      default -> this;
    };
  }

  /** Empty for types that no batch is exported with, as {@link BatchTypes} has none for them either. */
  static Optional<ValueLayout> of(DataType type) {
    if (type instanceof StringType) {
      // With a collation too: values are compared otherwise then, but lie as others do.
      return Optional.of(TEXT);
    }
    if (type instanceof BinaryType) {
      return Optional.of(BYTES);
    }
    if (type instanceof DecimalType decimal && decimal.precision() <= MOST_DIGITS_OF_INT) {
      return Optional.of(INT_DECIMAL);
    }
    return PhysicalType.of(type).map(physical -> switch (physical) {
      case BOOLEAN -> BOOLEAN;
      case BYTE -> BYTE;
      case SHORT -> SHORT;
      case INT -> INT;
      case LONG -> type instanceof DecimalType ? LONG_DECIMAL : LONG;
      case FLOAT -> FLOAT;
      case DOUBLE -> DOUBLE;
      case LONG_DECIMAL -> WIDE_DECIMAL;
      case BYTES -> BYTES;
    });
  }

  /** The format string of an array with such values of the type. */
  String format(DataType type) {
    String format = BatchTypes.format(type);
    return switch (this) {
      case INT_DECIMAL -> format + ",32";
      case LONG_DECIMAL -> format + ",64";
      default -> format;
    };
  }
}
