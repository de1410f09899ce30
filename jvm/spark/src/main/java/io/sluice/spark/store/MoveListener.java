package io.sluice.spark.store;

/** Is called after an output has been moved to the disk, on the thread that moved it. */
public interface MoveListener {
  /** The data file has the same path and the same bytes as before, but is another file (another inode). */
  void moved(int shuffleId, long mapId);
}
