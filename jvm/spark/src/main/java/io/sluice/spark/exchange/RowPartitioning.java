package io.sluice.spark.exchange;

import io.sluice.spark.sql.KeyRows;
import io.sluice.spark.sql.RowOrder;
import java.io.Serializable;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;

/** How an exchange divides its rows into partitions. Made on the driver, sent with the plan. Immutable; any thread. */
public abstract class RowPartitioning implements Serializable {
  private static final long serialVersionUID = 1;

  /** Of a task: for these, pairs cost less than making an expression's code once more. */
  private static final int ROWS_BY_SPARK = 50_000;

  private RowPartitioning() {}

  /** By Spark's hash of some columns. */
  public static RowPartitioning hash(List<HashColumn> columns, int fields, int partitions) {
    HashColumn[] all = columns.toArray(new HashColumn[0]);
    return new RowPartitioning() {
      @Override
      PartitionFinder newFinder() {
        return new HashFinder(all, fields, partitions);
      }
    };
  }

  /**
   * By an expression that Spark evaluates for each row.
   *
   * @param partitionId the partition, bound to the rows; deterministic
   */
  public static RowPartitioning expression(Expression partitionId) {
    return expression(partitionId, ROWS_BY_SPARK);
  }

  static RowPartitioning expression(Expression partitionId, int firstRows) {
    return new RowPartitioning() {
      @Override
      PartitionFinder newFinder() {
        return new ExpressionFinder(partitionId, firstRows);
      }
    };
  }

  /** All rows into partition 0. */
  public static RowPartitioning single() {
    return new RowPartitioning() {
      @Override
      PartitionFinder newFinder() {
        return new SingleFinder();
      }
    };
  }

  /**
   * By ranges of an order; where they begin is learned from Spark's function.
   *
   * @param order of the rows, or of those that {@code keys} makes of them
   */
  public static RowPartitioning range(RowOrder order, KeyRows keys) {
    return new RowPartitioning() {
      @Override
      PartitionFinder newFinder() {
        UnsafeProjection projection = keys.projection();
        PartitionFinder ranges = new RangeFinder(order);
        return projection == null ? ranges : new KeyRowFinder(projection, ranges);
      }
    };
  }

  /** Round robin, after the rows were sorted as Spark sorts them for it. */
  public static RowPartitioning roundRobin(RowOrder sortedBy, int partitions) {
    return new RowPartitioning() {
      @Override
      PartitionFinder newFinder() {
        return new RoundRobinFinder(partitions);
      }

      @Override
      RowOrder sortedBy() {
        return sortedBy;
      }
    };
  }

  abstract PartitionFinder newFinder();

  /** The order that Spark brings a task's rows into before it divides them; null if it leaves them as they come. */
  RowOrder sortedBy() {
    return null;
  }
}
