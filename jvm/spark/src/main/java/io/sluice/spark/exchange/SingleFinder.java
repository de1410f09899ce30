package io.sluice.spark.exchange;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/** The partition of rows of an exchange into one partition. */
final class SingleFinder implements PartitionFinder {
  @Override
  public int find(UnsafeRow row) {
    return 0;
  }

  @Override
  public boolean learn(UnsafeRow row, int partition) {
    return partition == 0;
  }

  @Override
  public boolean isCompared() {
    return false;
  }
}
