package io.sluice.spark.decode;

/**
 * Memory for one frame after the other: kept while it fits the next one and is not too large for it. Used by one thread
 * at a time.
 */
final class ReusedMemory implements AutoCloseable {
  /** More is not kept for a frame that needs less than a {@link #KEEP_FACTOR}th of it. */
  private static final long KEEP_BYTES = 4 * 1024 * 1024;
  private static final long KEEP_FACTOR = 4;
  /**
   * More is kept for no other frame: frames of batches of many rows are smaller, only a single large row takes this.
   */
  static final long LARGE_BYTES = 32 * 1024 * 1024;
  private static final long GRANULE = 64 * 1024;

  private ReadMemory.Piece piece;

  /**
   * Makes room, waiting for memory if it must.
   *
   * @param what the purpose of the memory, for the error
   */
  void ensure(long bytes, ReadMemory memory, String what) {
    if (!fits(bytes)) {
      close();
      piece = memory.take(roundUp(bytes), what);
    }
  }

  /** As {@link #ensure}, but false when there is no memory at once; it then holds none. */
  boolean tryEnsure(long bytes, ReadMemory memory) {
    if (!fits(bytes)) {
      close();
      piece = memory.tryTake(roundUp(bytes));
    }
    return piece != null;
  }

  private boolean fits(long bytes) {
    return piece != null && piece.bytes() >= bytes
        && (piece.bytes() <= KEEP_BYTES || piece.bytes() <= KEEP_FACTOR * bytes);
  }

  long address() {
    return piece.address();
  }

  /** Bytes that there is room for without asking for memory. */
  long bytes() {
    return piece == null ? 0 : piece.bytes();
  }

  /** The frame is done with: frees memory that only an unusually large one needs. */
  void freeIfLarge() {
    if (piece != null && piece.bytes() > LARGE_BYTES) {
      close();
    }
  }

  /** Lets a thread that still uses the memory free it after the task's end. */
  void detach() {
    if (piece != null) {
      piece.detach();
    }
  }

  /** The bytes that {@link #ensure} allocates for {@code bytes}. */
  static long roundUp(long bytes) {
    return Math.max(1, (bytes + GRANULE - 1) / GRANULE) * GRANULE;
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
