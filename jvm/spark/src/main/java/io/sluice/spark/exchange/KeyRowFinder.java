package io.sluice.spark.exchange;

import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/** Finds the partitions of rows by rows of their keys. One thread. */
final class KeyRowFinder implements PartitionFinder {
  private final UnsafeProjection keys;
  private final PartitionFinder byKeys;

  KeyRowFinder(UnsafeProjection keys, PartitionFinder byKeys) {
    this.keys = keys;
    this.byKeys = byKeys;
  }

  @Override
  public int find(UnsafeRow row) {
    return byKeys.find(keys.apply(row));
  }

  @Override
  public boolean learn(UnsafeRow row, int partition) {
    return byKeys.learn(keys.apply(row), partition);
  }
}
