package io.sluice.spark.fetch;

import java.io.IOException;

/** Blocks to read, one after the other. Not thread-safe. */
public interface BlockInputs extends AutoCloseable {
  /**
   * Opens the next block; the one before must be closed.
   *
   * @return null when there is none left
   * @throws BlockReadException when it cannot be opened
   */
  BlockInput next() throws IOException;

  /** Whether {@link #next} would answer without waiting for the network. */
  boolean nextHasArrived();

  @Override
  void close() throws IOException;

  /**
   * All blocks of {@code first}, then all of {@code second}.
   *
   * @param first never waits for the network
   */
  static BlockInputs concat(BlockInputs first, BlockInputs second) {
    return new BlockInputs() {
      private boolean firstIsDone;

      @Override
      public BlockInput next() throws IOException {
        BlockInput next = firstIsDone ? null : first.next();
        firstIsDone = next == null;
        return firstIsDone ? second.next() : next;
      }

      @Override
      public boolean nextHasArrived() {
        return !firstIsDone && first.nextHasArrived() || second.nextHasArrived();
      }

      @Override
      public void close() throws IOException {
        try (first; second) {
          firstIsDone = true;
        }
      }
    };
  }
}
