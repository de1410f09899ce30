package io.sluice.spark.columnar;

import java.util.Optional;
import java.util.StringJoiner;
import java.util.stream.IntStream;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DayTimeIntervalType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.sql.types.YearMonthIntervalType;

/** Spark's types as Arrow's format strings: the types of {@code NativeColumns}. Any thread. */
public final class BatchTypes {
  private BatchTypes() {}

  /** One format a line; empty if a column is of a type whose batches go by rows, such as a nested one. */
  public static Optional<String> of(StructType schema) {
    StringJoiner formats = new StringJoiner("\n");
    for (StructField field : schema.fields()) {
      String format = format(field.dataType());
      if (format == null) {
        return Optional.empty();
      }
      formats.add(format);
    }
    return Optional.of(formats.toString());
  }

  /** The same with strings as bytes. Only of a schema that {@link #of} has formats for. */
  public static String decoded(StructType schema) {
    StringJoiner formats = new StringJoiner("\n");
    for (StructField field : schema.fields()) {
      formats.add(field.dataType() instanceof StringType ? "z" : format(field.dataType()));
    }
    return formats.toString();
  }

  /** The columns that are strings. */
  public static int[] texts(StructType schema) {
    return IntStream.range(0, schema.size()).filter(i -> schema.fields()[i].dataType() instanceof StringType).toArray();
  }

  /** Null for a type that has none. */
  static String format(DataType type) {
    if (type instanceof DecimalType decimal) {
      return "d:" + decimal.precision() + "," + decimal.scale();
    }
    if (type instanceof StringType) {
      return "u";
    }
    return type instanceof BooleanType ? "b"
        : type instanceof ByteType ? "c"
            : type instanceof ShortType ? "s"
                : type instanceof IntegerType ? "i"
                    : type instanceof LongType ? "l"
                        : type instanceof FloatType ? "f"
                            : type instanceof DoubleType ? "g"
                                : type instanceof BinaryType ? "z" : timeFormat(type);
  }

  private static String timeFormat(DataType type) {
    if (type instanceof DateType) {
      return "tdD";
    }
    if (type instanceof TimestampType) {
      return "tsu:UTC";
    }
    if (type instanceof YearMonthIntervalType) {
      return "tiM";
    }
    if (type instanceof DayTimeIntervalType) {
      return "tDu";
    }
    // The first lines have no such classes.
    return switch (type.getClass().getName()) {
      case "org.apache.spark.sql.types.TimestampNTZType", "org.apache.spark.sql.types.TimestampNTZType$" -> "tsu:";
      case "org.apache.spark.sql.types.TimeType" -> "ttn";
      default -> null;
    };
  }
}
