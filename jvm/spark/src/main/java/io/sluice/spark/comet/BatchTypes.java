package io.sluice.spark.comet;

import java.util.Optional;
import java.util.StringJoiner;
import java.util.stream.IntStream;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;

/** Spark's types as Arrow's format strings, as Comet has them: the types of {@code NativeColumns}. */
final class BatchTypes {
  private BatchTypes() {}

  /** One format a line; empty if a column is of a type whose batches go by rows, such as a nested one. */
  static Optional<String> of(StructType schema) {
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
  static String decoded(StructType schema) {
    StringJoiner formats = new StringJoiner("\n");
    for (StructField field : schema.fields()) {
      formats.add(field.dataType() instanceof StringType ? "z" : format(field.dataType()));
    }
    return formats.toString();
  }

  /** The columns that are strings. */
  static int[] texts(StructType schema) {
    return IntStream.range(0, schema.size()).filter(i -> schema.fields()[i].dataType() instanceof StringType).toArray();
  }

  private static String format(DataType type) {
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
                                : type instanceof DateType ? "tdD"
                                    : type instanceof TimestampType ? "tsu:UTC"
                                        : type instanceof TimestampNTZType ? "tsu:"
                                            : type instanceof BinaryType ? "z" : null;
  }
}
