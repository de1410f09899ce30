package io.sluice.spark.compat;

import java.lang.invoke.SerializedLambda;
import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import org.apache.spark.Partitioner;
import org.apache.spark.RangePartitioner;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * The bounds of Spark's {@link RangePartitioner} for rows of sort keys. They are private; what is read here is checked
 * by whoever uses it against the partitions that Spark's own code finds. Any thread.
 */
public final class RangeBounds {
  private RangeBounds() {}

  /**
   * The bounds, each the highest row of its partition, which has a field for each key; null where the partitioner is
   * another one, counts partitions from the last one, or has other bounds.
   */
  public static UnsafeRow[] of(Partitioner partitioner) {
    if (partitioner == null || partitioner.getClass() != RangePartitioner.class) {
      return null;
    }
    try {
      Object array = field(partitioner, "rangeBounds");
      UnsafeRow[] bounds = new UnsafeRow[Array.getLength(array)];
      for (int i = 0; i < bounds.length; i++) {
        bounds[i] = (UnsafeRow) Array.get(array, i);
      }
      return (Boolean) field(partitioner, "ascending") && bounds.length == partitioner.numPartitions() - 1
          ? bounds : null;
    } catch (ReflectiveOperationException | RuntimeException other) {
      // Bounds that are no such rows, or the class of another Spark: its own search is always right.
      return null;
    }
  }

  private static Object field(Partitioner partitioner, String name) throws ReflectiveOperationException {
    Field field = RangePartitioner.class.getDeclaredField(name);
    field.setAccessible(true);
    return field.get(partitioner);
  }

  /**
   * The partitioner that a function of Spark's exchange has captured, as Java's serialization of lambdas names what is
   * captured; null where that is none or more than one, or the function is no lambda.
   */
  public static Partitioner capturedBy(Object function) {
    try {
      Method serialized = function.getClass().getDeclaredMethod("writeReplace");
      serialized.setAccessible(true);
      return serialized.invoke(function) instanceof SerializedLambda lambda ? partitioner(lambda) : null;
    } catch (ReflectiveOperationException | RuntimeException noLambda) {
      return null;
    }
  }

  private static Partitioner partitioner(SerializedLambda lambda) {
    Partitioner found = null;
    for (int i = 0; i < lambda.getCapturedArgCount(); i++) {
      if (lambda.getCapturedArg(i) instanceof Partitioner captured) {
        if (found != null) {
          return null;
        }
        found = captured;
      }
    }
    return found;
  }
}
