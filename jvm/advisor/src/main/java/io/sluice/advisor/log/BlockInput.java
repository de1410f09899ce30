package io.sluice.advisor.log;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;

/**
 * A stream of blocks that are decompressed one by one. Subclasses know one codec's framing. One thread; the stream that
 * is read from is closed with this one.
 */
abstract class BlockInput extends InputStream {
  /** Larger than any block that Spark writes; a length above it is damage, for which no memory is taken. */
  static final int LARGEST_BLOCK = 64 << 20;

  private final InputStream in;
  private byte[] block = new byte[0];
  private int position;
  private int end;

  BlockInput(InputStream in) {
    this.in = in;
  }

  /**
   * Reads the next block and gives its content to {@link #content}.
   *
   * @return false at the end of the stream
   * @throws IOException if the block is cut or damaged
   */
  abstract boolean nextBlock() throws IOException;

  /** Called by {@link #nextBlock}: the first {@code length} bytes of {@code bytes} are to be read next. */
  final void content(byte[] bytes, int length) {
    block = bytes;
    position = 0;
    end = length;
  }

  @Override
  public final int read(byte[] into, int offset, int length) throws IOException {
    if (length == 0) {
      return 0;
    }
    while (position == end) {
      if (!nextBlock()) {
        return -1;
      }
    }
    int count = Math.min(length, end - position);
    System.arraycopy(block, position, into, offset, count);
    position += count;
    return count;
  }

  @Override
  public final int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public final void close() throws IOException {
    in.close();
  }

  /**
   * Reads the first {@code length} bytes of a block.
   *
   * @return false if the compressed stream ends before it
   */
  final boolean begin(byte[] into, int length) throws IOException {
    int first = in.read();
    if (first < 0) {
      return false;
    }
    into[0] = (byte) first;
    fill(into, 1, length - 1);
    return true;
  }

  /** Reads {@code length} bytes of the compressed stream. */
  final void fill(byte[] into, int offset, int length) throws IOException {
    int done = 0;
    while (done < length) {
      int count = in.read(into, offset + done, length - done);
      if (count < 0) {
        throw new EOFException("the file ends within a compressed block");
      }
      done += count;
    }
  }

  /** {@code length} as the length of a block. */
  static int checked(long length) throws IOException {
    if (length < 0 || length > LARGEST_BLOCK) {
      throw new IOException("a compressed block claims to have " + length + " bytes");
    }
    return (int) length;
  }

  static int bigEndian(byte[] bytes, int offset) {
    return (bytes[offset] & 0xff) << 24 | (bytes[offset + 1] & 0xff) << 16 | (bytes[offset + 2] & 0xff) << 8
        | bytes[offset + 3] & 0xff;
  }

  static int littleEndian(byte[] bytes, int offset) {
    return Integer.reverseBytes(bigEndian(bytes, offset));
  }

  /** {@code array}, or a longer one, of at least {@code length} bytes. */
  static byte[] atLeast(byte[] array, int length) {
    return array.length >= length ? array : new byte[length];
  }
}
