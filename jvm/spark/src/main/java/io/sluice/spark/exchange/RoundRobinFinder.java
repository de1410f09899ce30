package io.sluice.spark.exchange;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/** Round robin, from the partition on that Spark's function gave for the task's first row. One thread. */
final class RoundRobinFinder implements PartitionFinder {
  private final int partitions;
  private boolean started;
  /** Spark's counter: it starts at 1 to {@code partitions}, and may overflow. */
  private int position;

  RoundRobinFinder(int partitions) {
    this.partitions = partitions;
  }

  @Override
  public int find(UnsafeRow row) {
    if (!started) {
      return UNKNOWN;
    }
    position++;
    return Math.floorMod(position, partitions);
  }

  /** Spark's function counts the rows that it is asked for, so it must be asked for the first rows only. */
  @Override
  public boolean learn(UnsafeRow row, int partition) {
    if (started) {
      return partition == Math.floorMod(position, partitions);
    }
    started = true;
    position = partition == 0 ? partitions : partition;
    return true;
  }
}
