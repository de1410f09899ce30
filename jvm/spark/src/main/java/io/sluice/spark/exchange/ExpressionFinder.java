package io.sluice.spark.exchange;

import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * The partition of a row by the expression that Spark's exchange evaluates for it. It is evaluated once for each row,
 * in the order of the rows, as Spark does: what it throws, and what users' functions in it do, is as without Sluice.
 * One thread.
 */
final class ExpressionFinder implements PartitionFinder {
  private final Expression partitionId;
  /** Null until the first row: a task without rows compiles nothing. */
  private UnsafeProjection projection;

  /** @param partitionId an int, bound to the rows */
  ExpressionFinder(Expression partitionId) {
    this.partitionId = partitionId;
  }

  @Override
  public int find(UnsafeRow row) {
    if (projection == null) {
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
