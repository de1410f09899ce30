package io.sluice.spark.read;

import java.io.IOException;

/** Decoded frames, in the order of the blocks. Not thread-safe. */
interface RowBatches extends AutoCloseable {
  /**
   * The next batch; it ends the life of the one before.
   *
   * @return null when there is none left
   * @throws BlockReadException when a block cannot be read
   */
  RowBatch next() throws IOException;

  /** Gives all memory back; a decode that runs on another thread gives back its own when it ends. */
  @Override
  void close() throws IOException;
}
