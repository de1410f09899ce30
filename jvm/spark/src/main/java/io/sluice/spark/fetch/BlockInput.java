package io.sluice.spark.fetch;

import io.sluice.spark.seal.PositionedBytes;
import java.io.IOException;

/** The bytes of one block, from its start, read once. Not thread-safe; the caller that opened it closes it. */
public interface BlockInput extends AutoCloseable {
  /** {@link #sizeBytes} of a block whose size is not known before its end. */
  long UNKNOWN = -1;

  ShuffleBlock block();

  /** Bytes of the whole block, or {@link #UNKNOWN}. */
  long sizeBytes();

  /** Whether the bytes are in memory, so that many small reads cost no more than one large one. */
  default boolean isInMemory() {
    return false;
  }

  /**
   * Reads up to {@code maxBytes} (at least 1) to off-heap memory.
   *
   * @return bytes read, at least 1; or -1 at the end of the block
   */
  int read(long address, int maxBytes) throws IOException;

  /**
   * The block's bytes by position, whatever was read of it; closed before this.
   *
   * @return null where they can be read once only
   */
  PositionedBytes positioned() throws IOException;

  /**
   * The diagnosis of a corrupt block by its writer's checksums; null if there are none, or if the block has been
   * closed.
   */
  String diagnose(IOException corruption);

  @Override
  void close() throws IOException;
}
