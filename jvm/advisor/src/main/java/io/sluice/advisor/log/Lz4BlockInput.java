package io.sluice.advisor.log;

import io.airlift.compress.MalformedInputException;
import io.airlift.compress.lz4.Lz4Decompressor;
import java.io.IOException;
import java.io.InputStream;

/**
 * What {@code net.jpountz.lz4.LZ4BlockOutputStream} writes, Spark's codec {@code lz4}. A block is
 *
 * <pre>
 * 0   "LZ4Block"
 * 8   token: method in the upper four bits (1 stored, 2 LZ4), level in the lower
 * 9   length compressed, length, checksum: three little-endian ints
 * 21  the compressed bytes
 * </pre>
 *
 * and a block of length 0 ends a stream; another stream may follow. Checksums are not looked at: damage that LZ4
 * itself does not notice makes lines that are no JSON.
 */
final class Lz4BlockInput extends BlockInput {
  static final byte[] MAGIC = {'L', 'Z', '4', 'B', 'l', 'o', 'c', 'k'};
  private static final int HEADER = 21;
  private static final int STORED = 1;
  private static final int LZ4 = 2;

  private final Lz4Decompressor decompressor = new Lz4Decompressor();
  private final byte[] header = new byte[HEADER];
  private byte[] compressed = new byte[0];
  private byte[] plain = new byte[0];

  Lz4BlockInput(InputStream in) {
    super(in);
  }

  @Override
  boolean nextBlock() throws IOException {
    if (!begin(header, HEADER)) {
      return false;
    }
    for (int i = 0; i < MAGIC.length; i++) {
      if (header[i] != MAGIC[i]) {
        throw new IOException("an LZ4 block does not begin as one");
      }
    }
    int compressedLength = checked(littleEndian(header, 9));
    int length = checked(littleEndian(header, 13));
    compressed = atLeast(compressed, compressedLength);
    fill(compressed, 0, compressedLength);
    content(header[8] >> 4, compressedLength, length);
    return true;
  }

  private void content(int method, int compressedLength, int length) throws IOException {
    if (method == STORED && compressedLength == length) {
      content(compressed, length);
      return;
    }
    if (method != LZ4) {
      throw new IOException("an LZ4 block has an unknown method");
    }
    plain = atLeast(plain, length);
    try {
      content(plain, decompressor.decompress(compressed, 0, compressedLength, plain, 0, length));
    } catch (MalformedInputException | IndexOutOfBoundsException e) {
      throw new IOException("an LZ4 block is damaged", e);
    }
  }
}
