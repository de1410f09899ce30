package io.sluice.bench.workload;

import org.apache.spark.Partitioner;

/**
 * Ranges of equal width over the first four bytes of a key, which TeraGen's uniform keys fill evenly: no
 * sampling needed.
 */
public final class KeyPrefixPartitioner extends Partitioner {

  private static final long serialVersionUID = 1L;
  private static final int PREFIX_BYTES = 4;

  private final int partitions;

  /** A partitioner into {@code partitions} ranges, at least one. */
  public KeyPrefixPartitioner(int partitions) {
    this.partitions = partitions;
  }

  @Override
  public int numPartitions() {
    return partitions;
  }

  @Override
  public int getPartition(Object key) {
    byte[] bytes = (byte[]) key;
    long prefix = 0;
    for (int i = 0; i < PREFIX_BYTES; i++) {
      prefix = prefix << 8 | (bytes[i] & 0xFF);
    }
    return (int) (prefix * partitions >>> (8 * PREFIX_BYTES));
  }

  /** Spark leaves out a shuffle between equal partitioners. */
  @Override
  public boolean equals(Object other) {
    return other instanceof KeyPrefixPartitioner partitioner && partitioner.partitions == partitions;
  }

  @Override
  public int hashCode() {
    return partitions;
  }
}
