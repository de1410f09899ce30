package io.sluice.spark.seal;

import java.io.IOException;

/** The bytes of one block by their position, read beside the reading of its frames. Not thread-safe. */
@FunctionalInterface
public interface PositionedBytes extends AutoCloseable {
  /**
   * Copies bytes from {@code position} on to the start of {@code target}.
   *
   * @return how many: {@code target.length}, or fewer where the block ends before; 0 behind its end
   */
  int read(long position, byte[] target) throws IOException;

  /** Ends the reading; the block stays open. */
  @Override
  default void close() throws IOException {
    // Most have nothing of their own.
  }
}
