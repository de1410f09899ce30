package io.sluice.spark.write;

import java.util.Arrays;
import org.apache.spark.unsafe.Platform;

/** The first bytes of one partition's stream, as Spark's writer would give them to the codec. Not thread-safe. */
final class StreamSample {
  private static final int FIRST_BYTES = 4096;

  private final int partition;
  private final boolean large;
  private final int limit;
  private byte[] bytes;
  private int length;
  private boolean full;

  /**
   * @param large whether the partition was chosen because it is much larger than others
   * @param limit the most bytes that are taken
   */
  StreamSample(int partition, boolean large, int limit) {
    this.partition = partition;
    this.large = large;
    this.limit = limit;
    this.bytes = new byte[Math.min(FIRST_BYTES, limit)];
  }

  /**
   * Adds a row, after its length; bytes beyond the limit are dropped.
   *
   * @param base object that holds the row, or null when {@code offset} is an address
   */
  void add(Object base, long offset, int rowBytes) {
    int room = limit - length - StockSizeEstimator.LENGTH_BYTES;
    int taken = Math.min(rowBytes, room);
    full = rowBytes >= room;
    if (taken <= 0) {
      return;
    }
    int end = length + StockSizeEstimator.LENGTH_BYTES + taken;
    if (end > bytes.length) {
      bytes = Arrays.copyOf(bytes, Math.min(limit, Math.max(end, 2 * bytes.length)));
    }
    for (int shift = Integer.SIZE - Byte.SIZE; shift >= 0; shift -= Byte.SIZE) {
      bytes[length++] = (byte) (rowBytes >>> shift);
    }
    Platform.copyMemory(base, offset, bytes, Platform.BYTE_ARRAY_OFFSET + length, taken);
    length += taken;
  }

  int partition() {
    return partition;
  }

  boolean large() {
    return large;
  }

  /** Whether nothing more is taken. */
  boolean full() {
    return full;
  }

  byte[] bytes() {
    return bytes;
  }

  int length() {
    return length;
  }
}
