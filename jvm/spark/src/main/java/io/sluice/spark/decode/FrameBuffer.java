package io.sluice.spark.decode;

import io.sluice.spark.fetch.BlockInput;
import java.io.IOException;
import org.apache.spark.unsafe.Platform;

/**
 * A sliding piece of memory over the bytes of a block: whole frames lie in it contiguously, many small ones at
 * once. It is kept from block to block and grows to the largest frame.
 *
 * <pre>
 *   address ├── consumed ──┤position├── available ──┤limit├── free ──┤capacity
 * </pre>
 *
 * Not thread-safe.
 */
final class FrameBuffer implements AutoCloseable {
  private static final long MIN_BYTES = 64 * 1024;
  private static final long MAX_INITIAL_BYTES = 1024 * 1024;
  private static final long UNKNOWN_BLOCK_BYTES = 256 * 1024;
  private static final int MAX_READ_BYTES = 1 << 30;

  private final ReadMemory memory;
  private ReadMemory.Piece piece;
  private BlockInput input;
  private long position;
  private long limit;
  private long offset;

  FrameBuffer(ReadMemory memory) {
    this.memory = memory;
  }

  /** Starts at the beginning of {@code input}, which stays its opener's. */
  void open(BlockInput input) {
    this.input = input;
    position = 0;
    limit = 0;
    offset = 0;
    long size = input.sizeBytes() == BlockInput.UNKNOWN ? UNKNOWN_BLOCK_BYTES : input.sizeBytes();
    long wanted = Math.max(MIN_BYTES, Math.min(MAX_INITIAL_BYTES, size));
    if (piece == null || piece.bytes() < wanted) {
      replace(roundUp(wanted));
    }
  }

  /** Makes the next {@code bytes} available; false when the block ends before. */
  boolean require(long bytes) throws IOException {
    if (available() < bytes) {
      makeRoom(bytes);
      fill(bytes);
    }
    return available() >= bytes;
  }

  /** Where the available bytes are; valid until the next {@link #require} or {@link #open}. */
  long address() {
    return piece.address() + position;
  }

  /** Bytes at {@link #address}. */
  long available() {
    return limit - position;
  }

  /** The position in the block. */
  long offset() {
    return offset;
  }

  /** Consumes {@code bytes} of the available ones. */
  void skip(long bytes) {
    position += bytes;
    offset += bytes;
  }

  private void fill(long bytes) throws IOException {
    while (available() < bytes) {
      int room = (int) Math.min(MAX_READ_BYTES, piece.bytes() - limit);
      int read = input.read(piece.address() + limit, room);
      if (read < 0) {
        return;
      }
      limit += read;
    }
  }

  private void makeRoom(long bytes) {
    if (bytes > piece.bytes()) {
      ReadMemory.Piece small = piece;
      ReadMemory.Piece large = memory.take(roundUp(bytes), "a frame of a shuffle block");
      Platform.copyMemory(null, small.address() + position, null, large.address(), available());
      piece = large;
      small.free();
      rebase();
    } else if (bytes > piece.bytes() - position) {
      Platform.copyMemory(null, piece.address() + position, null, piece.address(), available());
      rebase();
    }
  }

  private void rebase() {
    limit = available();
    position = 0;
  }

  private void replace(long bytes) {
    close();
    piece = memory.take(bytes, "the read window of a shuffle block");
  }

  private static long roundUp(long bytes) {
    return (bytes + MIN_BYTES - 1) / MIN_BYTES * MIN_BYTES;
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
