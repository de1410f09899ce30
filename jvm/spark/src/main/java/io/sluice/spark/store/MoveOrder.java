package io.sluice.spark.store;

/**
 * What it costs to have a map output on the disk, and what it is worth to have it back: which output moves next, and
 * whether one comes back. All numbers are per byte of the output, in units of the time that a byte takes to or from the
 * disk.
 */
final class MoveOrder {
  /** Passes over any shuffle that are looked ahead. */
  static final double PASSES_AHEAD = 16;
  /** Opening a file on the disk takes as long as reading so many bytes. */
  private static final double OPEN_BYTES = 64 * 1024;
  /** An output displaces another only for so many times what the other's move costs; else the two would alternate. */
  static final double ADVANTAGE = 2;

  private MoveOrder() {}

  /** The reads from the disk that an output on the disk will take in the passes ahead. */
  static double reads(double expectedPasses, long bytes) {
    return PASSES_AHEAD * expectedPasses * (1 + OPEN_BYTES / Math.max(1, bytes));
  }

  /**
   * What moving an output to the disk costs: the later reads and, unless its copy is still there, the copy.
   *
   * @param hasCopy whether its bytes are on the disk already
   */
  static double costOfMove(double expectedPasses, long bytes, boolean hasCopy) {
    return reads(expectedPasses, bytes) + (hasCopy ? 0 : 1);
  }

  /** What is gained when an output comes back: the later reads, but for the one that brings it back. */
  static double gainOfReturn(double expectedPasses, long bytes) {
    return reads(expectedPasses, bytes) - 1;
  }
}
