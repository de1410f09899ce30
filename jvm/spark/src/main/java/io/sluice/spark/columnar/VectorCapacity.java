package io.sluice.spark.columnar;

import io.sluice.spark.SluiceException;
import java.lang.reflect.Field;
import org.apache.spark.sql.execution.vectorized.WritableColumnVector;

/**
 * How many values Spark's own vectors have room for. Outside the heap, Spark's code and addresses of buffers read on
 * behind them. Any thread.
 */
final class VectorCapacity {
  /** Protected in all lines; null where a line has it no more. */
  private static final Field FIELD = field();

  private VectorCapacity() {}

  private static Field field() {
    try {
      Field field = WritableColumnVector.class.getDeclaredField("capacity");
      field.setAccessible(true);
      return field.getType() == int.class ? field : null;
    } catch (NoSuchFieldException e) {
      return null;
    }
  }

  /** {@link Integer#MAX_VALUE} where it is not known. */
  static int of(WritableColumnVector vector) {
    try {
      return FIELD == null ? Integer.MAX_VALUE : FIELD.getInt(vector);
    } catch (IllegalAccessException e) {
      throw new SluiceException("the capacity of a " + vector.getClass().getName() + " cannot be read", e);
    }
  }
}
