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
   * The next batch, after {@link #hasNext} has returned true; the previous batch becomes invalid.
   *
   * @throws BlockReadException when its frame is corrupt
   */
  DecodedBatch next() throws IOException;

  /** Frees all memory; a decode that still runs on another thread frees its own memory when it ends. */
  @Override
  void close() throws IOException;
}
