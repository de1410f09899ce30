package io.sluice.spark.decode;

import io.sluice.spark.fetch.BlockInput;
import java.io.IOException;
import org.apache.spark.unsafe.Platform;

/**
 * A small buffer in front of a block's bytes, so that headers and small frames do not cost a system call each. A
 * larger read bypasses the buffer and goes to its destination directly. The buffer is reused for all blocks.
 *
 * <pre>
 *   address ├── consumed ──┤position├── available ──┤limit├── free ──┤BYTES
 * </pre>
 *
 * Not thread-safe.
 */
final class BlockBuffer implements AutoCloseable {
  static final int BYTES = 64 * 1024;
  private static final int MAX_READ_BYTES = 1 << 30;

  private final ReadMemory memory;
  private ReadMemory.Piece piece;
  private BlockInput input;
  private int position;
  private int limit;
  private long offset;

  BlockBuffer(ReadMemory memory) {
    this.memory = memory;
  }

  /** Starts at the beginning of {@code input}, which stays its opener's. */
  void open(BlockInput input) {
    this.input = input;
    position = 0;
    limit = 0;
    offset = 0;
    if (piece == null) {
      piece = memory.take(BYTES, "the read buffer of shuffle blocks");
    }
  }

  /** Makes the next {@code bytes}, at most {@link #BYTES}, available; false when the block ends before. */
  boolean require(int bytes) throws IOException {
    if (bytes > BYTES - position) {
      Platform.copyMemory(null, piece.address() + position, null, piece.address(), available());
      limit = available();
      position = 0;
    }
    while (available() < bytes) {
      // Out of memory nothing is read in advance: it would be copied twice.
      int room = input.isInMemory() ? bytes - available() : BYTES - limit;
      int read = input.read(piece.address() + limit, room);
      if (read < 0) {
        return false;
      }
      limit += read;
    }
    return true;
  }

  /** Where the available bytes are; valid until the next {@link #require} or {@link #open}. */
  long address() {
    return piece.address() + position;
  }

  /** Bytes at {@link #address}. */
  int available() {
    return limit - position;
  }

  /** The position in the block. */
  long offset() {
    return offset;
  }

  /** Consumes {@code bytes} of the available ones. */
  void skip(int bytes) {
    position += bytes;
    offset += bytes;
  }

  /**
   * Consumes {@code bytes} and has them at {@code target}: the available ones are copied, the others are read there.
   *
   * @return how many there were before the block ended
   */
  long consumeTo(long target, long bytes) throws IOException {
    int copied = (int) Math.min(bytes, available());
    Platform.copyMemory(null, address(), null, target, copied);
    skip(copied);
    long done = copied;
    while (done < bytes) {
      int read = input.read(target + done, (int) Math.min(MAX_READ_BYTES, bytes - done));
      if (read < 0) {
        return done;
      }
      done += read;
      offset += read;
    }
    return done;
  }

  /** As {@link #consumeTo(long, long)}, to the start of an array, through the buffer. */
  int consumeTo(byte[] target, int bytes) throws IOException {
    int done = 0;
    while (done < bytes) {
      int wanted = Math.min(BYTES, bytes - done);
      boolean whole = require(wanted);
      int count = Math.min(wanted, available());
      Platform.copyMemory(null, address(), target, Platform.BYTE_ARRAY_OFFSET + done, count);
      skip(count);
      done += count;
      if (!whole) {
        return done;
      }
    }
    return done;
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
