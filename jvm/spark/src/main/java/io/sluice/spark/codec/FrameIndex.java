package io.sluice.spark.codec;

/**
 * Which bytes of a run of frames are which partition's. It has an entry for each partition that has rows, in ascending
 * order, and stays on the heap when the frames move to a file. Filled by one thread; then only read.
 *
 * <pre>
 *   | frames of partition(0) | frames of partition(1) | …
 *   ↑ start(0)               ↑ end(0), start(1)       ↑ end(1)
 * </pre>
 */
public final class FrameIndex {
  private final int[] partitions;
  private final long[] ends;
  private int filled;

  /** Without entries, and with room for {@code partitions}. */
  FrameIndex(int partitions) {
    this.partitions = new int[partitions];
    this.ends = new long[partitions];
  }

  /** Of a run that has one partition's frames only, {@code bytes} of them. */
  public static FrameIndex ofOne(int partition, long bytes) {
    FrameIndex index = new FrameIndex(1);
    index.add(partition, bytes);
    return index;
  }

  /** Adds a partition, whose frames end at {@code end}. */
  void add(int partition, long end) {
    partitions[filled] = partition;
    ends[filled] = end;
    filled++;
  }

  /** How many partitions have rows. */
  public int partitions() {
    return filled;
  }

  /** The partition of the entry at {@code index}. */
  public int partition(int index) {
    return partitions[index];
  }

  /** Bytes from the run's start to the frames of the partition of the entry at {@code index}. */
  public long start(int index) {
    return index == 0 ? 0 : ends[index - 1];
  }

  /** Bytes from the run's start to the end of the frames of the partition of the entry at {@code index}. */
  public long end(int index) {
    return ends[index];
  }

  /** Bytes of all frames. */
  public long bytes() {
    return filled == 0 ? 0 : ends[filled - 1];
  }

  /** Bytes of heap that the entries take. */
  public long heapBytes() {
    return (long) (Integer.BYTES + Long.BYTES) * partitions.length;
  }
}
