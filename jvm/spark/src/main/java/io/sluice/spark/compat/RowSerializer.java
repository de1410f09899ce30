package io.sluice.spark.compat;

import io.sluice.spark.SluiceException;
import java.lang.reflect.Field;
import org.apache.spark.serializer.Serializer;
import org.apache.spark.sql.execution.metric.SQLMetric;

/**
 * Recognises Spark SQL's {@code UnsafeRowSerializer}, which Sluice bypasses, and reads its
 * {@code dataSize} metric. Adaptive execution plans by that metric, so code that bypasses the serializer must update
 * it.
 *
 * <p>The class is the same on every Spark line; its fields are private, hence reflection.
 */
public final class RowSerializer {
  private static final String CLASS = "org.apache.spark.sql.execution.UnsafeRowSerializer";
  private static final String DATA_SIZE = "dataSize";

  private RowSerializer() {}

  /** Whether {@code serializer} is the one of SQL rows; by name, so that Spark SQL need not be there. */
  public static boolean isRowSerializer(Serializer serializer) {
    return serializer.getClass().getName().equals(CLASS);
  }

  /** Whether {@link #dataSize} will work. */
  public static boolean dataSizeReachable(Serializer serializer) {
    try {
      return dataSizeField(serializer).getType() == SQLMetric.class;
    } catch (ReflectiveOperationException | RuntimeException e) {
      return false;
    }
  }

  /** The metric to add the bytes of written rows to; null when the plan has none. */
  public static SQLMetric dataSize(Serializer serializer) {
    try {
      return (SQLMetric) dataSizeField(serializer).get(serializer);
    } catch (ReflectiveOperationException e) {
      throw new SluiceException("the field " + DATA_SIZE + " of " + CLASS + " cannot be read, though the driver could",
          e);
    }
  }

  private static Field dataSizeField(Serializer serializer) throws NoSuchFieldException {
    Field field = serializer.getClass().getDeclaredField(DATA_SIZE);
    field.setAccessible(true);
    return field;
  }
}
