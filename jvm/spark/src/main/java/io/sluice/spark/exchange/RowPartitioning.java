package io.sluice.spark.exchange;

import io.sluice.nativebridge.NativeColumns;
import io.sluice.spark.columnar.RangeKeys;
import io.sluice.spark.sql.ColumnOrder;
import io.sluice.spark.sql.KeyRows;
import io.sluice.spark.sql.RowOrder;
import java.io.Serializable;
import java.util.List;
import java.util.Optional;
import java.util.stream.LongStream;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.types.StructType;

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

      @Override
      long[] numbers() {
        return hashNumbers(columns, partitions);
      }
    };
  }

  private static long[] hashNumbers(List<HashColumn> columns, int partitions) {
    return columns.stream().allMatch(HashColumn::isPlain)
        ? LongStream.concat(LongStream.of(NativeColumns.HASH, partitions),
            columns.stream().mapToLong(HashColumn::ordinal)).toArray()
        : null;
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

      @Override
      long[] numbers() {
        return new long[] {NativeColumns.SINGLE, 1};
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

      @Override
      Optional<BatchDivision> division(StructType rows) {
        return keys.areColumns() && order instanceof ColumnOrder columns
            ? RangeKeys.of(columns.columns(), rows).flatMap(found -> BatchDivision.ofRanges(rows, found))
            : Optional.empty();
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

  /**
   * The same for rows that lie in batches of columns, which a writer of Sluice's may then take as they are; this object
   * itself where the native core has no columns for a type, or cannot divide them.
   */
  public RowPartitioning ofBatches(StructType rows) {
    return division(rows).<RowPartitioning>map(found -> new OfBatches(this, found)).orElse(this);
  }

  /** How the native core divides rows that lie in batches; empty where it cannot. */
  Optional<BatchDivision> division(StructType rows) {
    long[] numbers = numbers();
    return numbers == null ? Optional.empty() : BatchDivision.of(rows, numbers);
  }

  private static final class OfBatches extends RowPartitioning {
    private static final long serialVersionUID = 1;

    private final RowPartitioning rows;
    private final BatchDivision batches;

    OfBatches(RowPartitioning rows, BatchDivision batches) {
      this.rows = rows;
      this.batches = batches;
    }

    @Override
    PartitionFinder newFinder() {
      return rows.newFinder();
    }

    @Override
    BatchDivision batches() {
      return batches;
    }
  }

  /** Whether a writer may take batches of columns: {@link #ofBatches} found a way. */
  public boolean takesBatches() {
    return batches() != null;
  }

  abstract PartitionFinder newFinder();

  /**
   * As {@link NativeColumns#batchOpen} takes it; null where the native core cannot divide rows so, or not without what
   * is known in the tasks.
   */
  long[] numbers() {
    return null;
  }

  /** Null where rows do not come in batches of columns, or must be made rows. */
  BatchDivision batches() {
    return null;
  }

  /** The order that Spark brings a task's rows into before it divides them; null if it leaves them as they come. */
  RowOrder sortedBy() {
    return null;
  }
}
