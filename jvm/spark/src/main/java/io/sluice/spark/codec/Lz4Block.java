package io.sluice.spark.codec;

import java.io.IOException;

/**
 * Decompresses one LZ4 block: sequences of literals and a match, the last of literals only. The library that Spark
 * brings takes a match at distance 0, which the LZ4 block format calls corrupt, for valid. One thread, one block.
 */
final class Lz4Block {
  private static final int LENGTH_MASK = 0xF;
  private static final int LEAST_MATCH = 4;

  private final byte[] in;
  private final byte[] out;
  private int from;
  private int to;

  Lz4Block(byte[] in, byte[] out) {
    this.in = in;
    this.out = out;
  }

  /** How many bytes came out. */
  int decompress() throws IOException {
    while (true) {
      int token = nextByte();
      copyLiterals(length(token >> 4));
      if (from == in.length) {
        return to;
      }
      int distance = nextByte() | nextByte() << Byte.SIZE;
      copyMatch(distance, length(token & LENGTH_MASK) + LEAST_MATCH);
    }
  }

  private int nextByte() throws IOException {
    if (from == in.length) {
      throw new IOException("the block ends inside of a sequence");
    }
    return in[from++] & 0xFF;
  }

  /** A length of 15 or more goes on in the next bytes, up to one that is not 255. */
  private long length(int first) throws IOException {
    long length = first;
    if (first == LENGTH_MASK) {
      int more;
      do {
        more = nextByte();
        length += more;
      } while (more == 0xFF);
    }
    return length;
  }

  private void copyLiterals(long count) throws IOException {
    if (count > in.length - from || count > out.length - to) {
      throw new IOException(count + " literals where " + (in.length - from) + " bytes are left to read and "
          + (out.length - to) + " to write");
    }
    System.arraycopy(in, from, out, to, (int) count);
    from += (int) count;
    to += (int) count;
  }

  private void copyMatch(int distance, long count) throws IOException {
    if (distance == 0 || distance > to) {
      throw new IOException(distance + " is not a valid match distance after " + to + " bytes");
    }
    if (count > out.length - to) {
      throw new IOException("a match of " + count + " bytes where " + (out.length - to) + " are left to write");
    }
    for (int i = 0; i < count; i++) {
      out[to] = out[to - distance];
      to++;
    }
  }
}
