package io.sluice.spark.exchange;

import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * The partition of a row by the expression that Spark's exchange evaluates for it. It is evaluated once for each row,
 * in the order of the rows, as Spark does: what it throws, and what users' functions in it do, is as without Sluice.
 *
 * <p>The code for it is made once for Spark's function and a second time here, which takes up to a millisecond: so
 * Spark's function finds the first rows of a task. One thread.
 */
final class ExpressionFinder implements PartitionFinder {
  private final Expression partitionId;
  private final int firstRows;
  /** Null for the first rows. */
  private UnsafeProjection projection;
  private int asked;

  /**
   * @param partitionId an int, bound to the rows
   * @param firstRows so many are found by Spark's function
   */
  ExpressionFinder(Expression partitionId, int firstRows) {
    this.partitionId = partitionId;
    this.firstRows = firstRows;
  }

  @Override
  public int find(UnsafeRow row) {
    if (projection == null) {
      if (asked < firstRows) {
        asked++;
        return UNKNOWN;
      }
      projection = UnsafeProjection.create(partitionId);
    }
    return projection.apply(row).getInt(0);
  }

  @Override
  public boolean learn(UnsafeRow row, int partition) {
    return true;
  }

  @Override
  public boolean isCompared() {
    return false;
  }
}
