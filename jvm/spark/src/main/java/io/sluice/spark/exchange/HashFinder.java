package io.sluice.spark.exchange;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * The partition of a row by the hash of some of its columns, computed as Spark's {@code HashPartitioning} does: a
 * Murmur3 hash over all of them, modulo the number of partitions. One thread.
 */
final class HashFinder implements PartitionFinder {
  private static final int SEED = 42;

  private final HashColumn[] columns;
  private final int bitSetBytes;
  private final int partitions;

  HashFinder(HashColumn[] columns, int fields, int partitions) {
    this.columns = columns;
    this.bitSetBytes = UnsafeRow.calculateBitSetWidthInBytes(fields);
    this.partitions = partitions;
  }

  @Override
  public int find(UnsafeRow row) {
    Object base = row.getBaseObject();
    long start = row.getBaseOffset();
    long fields = start + bitSetBytes;
    int hash = SEED;
    for (HashColumn column : columns) {
      hash = column.hash(base, start, fields, hash);
    }
    return Math.floorMod(hash, partitions);
  }

  @Override
  public boolean learn(UnsafeRow row, int partition) {
    return find(row) == partition;
  }
}
