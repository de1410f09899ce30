package io.sluice.spark.store;

/** Is called after an output has been moved to the disk, or back to memory, on the thread that moved it. */
public interface MoveListener {
  /**
   * The data file has the same path and the same bytes as before, but is another file (another inode).
   *
   * @param inMemory where it is now
   */
  void moved(int shuffleId, long mapId, boolean inMemory);
}
