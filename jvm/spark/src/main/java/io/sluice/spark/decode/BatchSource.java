package io.sluice.spark.decode;

import io.sluice.spark.fetch.BlockReadException;
import java.io.IOException;

/** Decoded frames, in the order of the blocks. Not thread-safe. */
public interface BatchSource extends AutoCloseable {
  /**
   * Whether another batch follows; reads on if it must. The current batch stays as it is.
   *
   * @throws BlockReadException when a block cannot be read
   */
  boolean hasNext() throws IOException;

  /**
   * The next batch, after {@link #hasNext} has said that there is one; it ends the life of the one before.
   *
   * @throws BlockReadException when its frame is corrupt
   */
  DecodedBatch next() throws IOException;

  /** Gives all memory back; a decode that runs on another thread gives back its own when it ends. */
  @Override
  void close() throws IOException;
}
