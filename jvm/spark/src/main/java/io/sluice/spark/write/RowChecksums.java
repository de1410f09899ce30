package io.sluice.spark.write;

import org.apache.spark.sql.catalyst.expressions.XXH64;

/**
 * Spark's row-based checksum of one map task, the value that its {@code UnsafeRowChecksum} objects would give: per
 * partition the XOR and the sum of all rows' hashes, so that the order of rows does not matter.
 *
 * <p>Whole batches are hashed, by the thread that encodes them: many independent hashes in a row overlap in the
 * processor, and the task's loop over its records stays short. Any thread.
 */
final class RowChecksums {
  private static final int ROTATION = 27;
  private static final long SEED = 0;
  private static final long FACTOR = 31;

  private final long[] xor;
  private final long[] sum;

  RowChecksums(int partitions) {
    this.xor = new long[partitions];
    this.sum = new long[partitions];
  }

  /** Adds every row of a batch. */
  void add(RowBatch batch) {
    long[] batchXor = new long[xor.length];
    long[] batchSum = new long[sum.length];
    batch.forEachRow((partition, address, bytes) -> {
      long hash = XXH64.hashUnsafeWords(null, address, bytes, SEED);
      batchXor[partition] ^= hash;
      batchSum[partition] += hash;
    });
    merge(batchXor, batchSum);
  }

  private synchronized void merge(long[] batchXor, long[] batchSum) {
    for (int i = 0; i < xor.length; i++) {
      xor[i] ^= batchXor[i];
      sum[i] += batchSum[i];
    }
  }

  /** The value of all partitions together. */
  synchronized long aggregate() {
    long value = 0;
    for (int i = 0; i < xor.length; i++) {
      value = value * FACTOR + (xor[i] ^ Long.rotateLeft(sum[i], ROTATION));
    }
    return value;
  }
}
