package io.sluice.advisor.log;

import io.airlift.compress.MalformedInputException;
import io.airlift.compress.snappy.SnappyDecompressor;
import java.io.IOException;
import java.io.InputStream;

/**
 * What {@code org.xerial.snappy.SnappyOutputStream} writes, Spark's codec {@code snappy}: a header of 16 bytes (magic,
 * two versions), then blocks of a big-endian length and as many bytes. Where another stream follows, its header is in
 * the place of a length.
 */
final class SnappyBlockInput extends BlockInput {
  static final byte[] MAGIC = {(byte) 0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0};
  private static final int HEADER = 16;
  private static final int LENGTH = 4;

  private final SnappyDecompressor decompressor = new SnappyDecompressor();
  private final byte[] header = new byte[HEADER];
  private byte[] compressed = new byte[0];
  private byte[] plain = new byte[0];

  SnappyBlockInput(InputStream in) {
    super(in);
  }

  @Override
  boolean nextBlock() throws IOException {
    if (!begin(header, LENGTH)) {
      return false;
    }
    if (bigEndian(header, 0) == bigEndian(MAGIC, 0)) {
      fill(header, LENGTH, HEADER - LENGTH);
      return true;
    }
    int length = checked(bigEndian(header, 0));
    compressed = atLeast(compressed, length);
    fill(compressed, 0, length);
    try {
      int plainLength = checked(SnappyDecompressor.getUncompressedLength(compressed, 0));
      plain = atLeast(plain, plainLength);
      content(plain, decompressor.decompress(compressed, 0, length, plain, 0, plainLength));
    } catch (MalformedInputException | IndexOutOfBoundsException e) {
      throw new IOException("a Snappy block is damaged", e);
    }
    return true;
  }
}
