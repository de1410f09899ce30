package io.sluice.spark.codec;

import org.apache.spark.sql.catalyst.expressions.XXH64;

/**
 * Spark's checksum of a map task's rows, whatever their order ({@code UnsafeRowChecksum} and {@code RowBasedChecksum}
 * of Spark 4.1 and later): a row's hash is XXH64; a partition's value is the XOR of its rows' hashes, XOR their sum
 * rotated; a map output's value is the polynomial of its partitions' values. Not thread-safe.
 */
public final class RowHashes {
  private static final long SEED = 0;
  private static final int ROTATION = 27;
  private static final long FACTOR = 31;

  private final long[] xors;
  private final long[] sums;

  public RowHashes(int partitions) {
    xors = new long[partitions];
    sums = new long[partitions];
  }

  void add(int partition, long xor, long sum) {
    xors[partition] ^= xor;
    sums[partition] += sum;
  }

  /** Adds one row of {@code partition}, by its hash. */
  public void addRow(int partition, long hash) {
    add(partition, hash, hash);
  }

  /** The hash of a row: {@code length} bytes at {@code offset} of {@code base}, or at that address if it is null. */
  public static long ofRow(Object base, long offset, int length) {
    return XXH64.hashUnsafeBytes(base, offset, length, SEED);
  }

  /** The value of the map output. */
  public long checksum() {
    long value = 0;
    for (int partition = 0; partition < xors.length; partition++) {
      value = value * FACTOR + (xors[partition] ^ Long.rotateLeft(sums[partition], ROTATION));
    }
    return value;
  }
}
