package io.sluice.spark.transport;

import io.sluice.nativebridge.NativeTransport;

/** The names of shuffle blocks as the transport takes them: numbers. */
final class BlockRange {
  private static final String PREFIX = "shuffle_";
  private static final int PARTS = 3;
  private static final int BATCH_PARTS = 4;

  private BlockRange() {}

  /**
   * The blocks of {@code ids}, {@link NativeTransport#BLOCK_LONGS} longs each; null when one of them is neither {@code
   * shuffle_S_M_R} nor {@code shuffle_S_M_R1_R2}, where the last partition is exclusive.
   */
  static long[] ofAll(String[] ids) {
    long[] blocks = new long[ids.length * NativeTransport.BLOCK_LONGS];
    for (int i = 0; i < ids.length; i++) {
      if (!parse(ids[i], blocks, i * NativeTransport.BLOCK_LONGS)) {
        return null;
      }
    }
    return blocks;
  }

  private static boolean parse(String id, long[] blocks, int at) {
    if (!id.startsWith(PREFIX)) {
      return false;
    }
    String[] parts = id.substring(PREFIX.length()).split("_", -1);
    if (parts.length != PARTS && parts.length != BATCH_PARTS) {
      return false;
    }
    try {
      blocks[at] = Integer.parseInt(parts[0]);
      blocks[at + 1] = Long.parseLong(parts[1]);
      blocks[at + 2] = Integer.parseInt(parts[2]);
      blocks[at + 3] = parts.length == BATCH_PARTS ? Integer.parseInt(parts[3]) : blocks[at + 2] + 1;
      return blocks[at + 2] >= 0 && blocks[at + 2] < blocks[at + 3];
    } catch (NumberFormatException e) {
      return false;
    }
  }
}
