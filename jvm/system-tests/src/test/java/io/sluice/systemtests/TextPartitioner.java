package io.sluice.systemtests;

import org.apache.spark.Partitioner;

/** A job's own partitioner, for keys of any class: some partitions get many, some none. */
final class TextPartitioner extends Partitioner {
  private static final long serialVersionUID = 1L;

  private final int partitions;
  /** The text of the key that it throws at; null for none. */
  private final String poison;

  TextPartitioner(int partitions, String poison) {
    this.partitions = partitions;
    this.poison = poison;
  }

  @Override
  public int numPartitions() {
    return partitions;
  }

  @Override
  public int getPartition(Object key) {
    String text = RecordText.of(key);
    if (text.equals(poison)) {
      throw new IllegalStateException("on purpose: a key that has no partition");
    }
    int even = Math.floorMod(text.hashCode(), partitions);
    return even * even / partitions;
  }
}
