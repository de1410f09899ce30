package io.sluice.spark.columnar;

import io.sluice.spark.decode.ReadMemory;
import org.apache.spark.unsafe.Platform;

/** Memory that values are copied to: kept for the next batch, unless it is large. One thread. */
final class CopyBuffer implements AutoCloseable {
  private static final long LEAST_BYTES = 16 << 10;
  /** More is not taken: a batch that needs more goes by rows. */
  static final long MOST_BYTES = 32 << 20;
  /** More is not kept. */
  private static final long KEPT_BYTES = 4 << 20;

  private final ReadMemory memory;
  private ReadMemory.Piece piece;

  CopyBuffer(ReadMemory memory) {
    this.memory = memory;
  }

  /** Where it is; 0 while it has no memory. */
  long address() {
    return piece == null ? 0 : piece.address();
  }

  /**
   * Makes room for {@code bytes} bytes.
   *
   * @param used bytes from the beginning on that are kept
   * @return false when there is no memory at once, or they are too many; what is there stays
   */
  boolean tryEnsure(long used, long bytes) {
    if (piece != null && bytes <= piece.bytes()) {
      return true;
    }
    if (bytes > MOST_BYTES) {
      return false;
    }
    long wanted = Math.min(MOST_BYTES, Math.max(LEAST_BYTES, Math.max(bytes, 2 * used)));
    ReadMemory.Piece larger = memory.tryTake(wanted);
    if (larger == null) {
      return false;
    }
    if (used > 0) {
      Platform.copyMemory(null, piece.address(), null, larger.address(), used);
    }
    close();
    piece = larger;
    return true;
  }

  /** Frees memory that only an unusually large batch needs. */
  void freeIfLarge() {
    if (piece != null && piece.bytes() > KEPT_BYTES) {
      close();
    }
  }

  @Override
  public void close() {
    if (piece != null) {
      ReadMemory.Piece freed = piece;
      piece = null;
      freed.free();
    }
  }
}
