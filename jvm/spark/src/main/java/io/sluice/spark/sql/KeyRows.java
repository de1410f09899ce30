package io.sluice.spark.sql;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;

/** How to make a row of a row's keys, where an order is not one of columns. Sent with a plan; any thread. */
public interface KeyRows extends Serializable {
  /** Makes rows of keys, each in the place of the last, for one thread; null where the keys are columns of the rows. */
  UnsafeProjection projection();

  /** Whether the keys are columns of the rows. */
  default boolean areColumns() {
    return projection() == null;
  }
}
