package io.sluice.spark.columnar;

import io.sluice.spark.SluiceException;
import org.apache.arrow.vector.DecimalVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.ValueVector;
import org.apache.arrow.vector.types.Types.MinorType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.vectorized.ArrowColumnVector;

/** Buffers of the Arrow vectors below Spark's. Loaded only where there is one: its classes are Spark's Arrow's. */
final class ArrowVectors {
  private ArrowVectors() {}

  /**
   * The vector whose buffers are those of an array of the layout; null where its values must be read one by one.
   *
   * @param field of the plan, for which the layout is
   */
  static FieldVector of(ArrowColumnVector vector, StructField field, ValueLayout layout, int rows) {
    ValueVector below = vector.getValueVector();
    // Spark's code does not ask how many values there are, so who makes a vector need not have said it.
    if (below.getValueCount() < rows || !(below instanceof FieldVector) || !isLaidOut(below, field, layout)) {
      return null;
    }
    if (!field.nullable() && below.getNullCount() > 0) {
      // Spark's code asks for such values without looking whether they are null.
      return null;
    }
    return hasRoom(below, field, layout, rows) ? (FieldVector) below : null;
  }

  /**
   * Whether the buffers are as long as so many rows need: the native core cannot see it. Where they are not, Spark
   * reads the values before their end; nulls may have none.
   */
  private static boolean hasRoom(ValueVector below, StructField field, ValueLayout layout, int rows) {
    long maskBytes = (rows + Byte.SIZE - 1L) / Byte.SIZE;
    if (below.getNullCount() > 0 && below.getValidityBuffer().capacity() < maskBytes) {
      return false;
    }
    long bytes = below.getDataBuffer().capacity();
    if (!layout.isVariable()) {
      int width = below instanceof DecimalVector ? DecimalVector.TYPE_WIDTH : layout.width();
      return bytes >= (layout == ValueLayout.BOOLEAN ? maskBytes : (long) rows * width);
    }
    if (below.getOffsetBuffer().capacity() < (rows + 1L) * Integer.BYTES) {
      return false;
    }
    // Spark does not look before it reads.
    int end = below.getOffsetBuffer().getInt((long) rows * Integer.BYTES);
    if (end > bytes) {
      throw new SluiceException("column '" + field.name() + "' of a batch of " + rows + " rows has " + bytes
          + " bytes of values, and its offsets end at " + end);
    }
    return true;
  }

  private static boolean isLaidOut(ValueVector vector, StructField field, ValueLayout layout) {
    MinorType type = vector.getMinorType();
    return switch (layout) {
      case BOOLEAN -> type == MinorType.BIT;
      case BYTE -> type == MinorType.TINYINT;
      case SHORT -> type == MinorType.SMALLINT;
      case INT -> type == MinorType.INT || type == MinorType.DATEDAY || type == MinorType.INTERVALYEAR;
      case LONG -> type == MinorType.BIGINT || type == MinorType.TIMESTAMPMICRO || type == MinorType.TIMESTAMPMICROTZ;
      case FLOAT -> type == MinorType.FLOAT4;
      case DOUBLE -> type == MinorType.FLOAT8;
      case INT_DECIMAL, LONG_DECIMAL, WIDE_DECIMAL -> vector instanceof DecimalVector decimals
          && isOf(decimals, (DecimalType) field.dataType());
      case TEXT -> type == MinorType.VARCHAR;
      case BYTES -> type == MinorType.VARBINARY;
    };
  }

  private static boolean isOf(DecimalVector decimals, DecimalType type) {
    return decimals.getPrecision() == type.precision() && decimals.getScale() == type.scale();
  }
}
