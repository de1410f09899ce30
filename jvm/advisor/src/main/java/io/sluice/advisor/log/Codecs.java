package io.sluice.advisor.log;

import io.airlift.compress.zstd.ZstdInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PushbackInputStream;
import java.util.zip.GZIPInputStream;

/**
 * Takes the compression off a file. The codec is told by the file's first bytes and not by its name, because logs are
 * renamed and copied.
 */
final class Codecs {
  private static final int LONGEST_MAGIC = 8;
  private static final byte[] ZSTD = {0x28, (byte) 0xb5, 0x2f, (byte) 0xfd};
  private static final byte[] GZIP = {0x1f, (byte) 0x8b};
  private static final byte[] LZF_STORED = {'Z', 'V', 0};
  private static final byte[] LZF_COMPRESSED = {'Z', 'V', 1};

  private Codecs() {}

  /** The plain bytes of {@code file}, which is closed with the result. */
  static InputStream plain(InputStream file) throws IOException {
    PushbackInputStream in = new PushbackInputStream(file, LONGEST_MAGIC);
    byte[] magic = new byte[LONGEST_MAGIC];
    int length = 0;
    for (int count = 0; count >= 0 && length < LONGEST_MAGIC; length += Math.max(0, count)) {
      count = in.read(magic, length, LONGEST_MAGIC - length);
    }
    in.unread(magic, 0, length);
    if (startsWith(magic, length, ZSTD)) {
      return new ZstdInputStream(in);
    }
    if (startsWith(magic, length, Lz4BlockInput.MAGIC)) {
      return new Lz4BlockInput(in);
    }
    if (startsWith(magic, length, SnappyBlockInput.MAGIC)) {
      return new SnappyBlockInput(in);
    }
    if (startsWith(magic, length, LZF_STORED) || startsWith(magic, length, LZF_COMPRESSED)) {
      return new LzfBlockInput(in);
    }
    return startsWith(magic, length, GZIP) ? new GZIPInputStream(in) : in;
  }

  private static boolean startsWith(byte[] bytes, int length, byte[] prefix) {
    if (length < prefix.length) {
      return false;
    }
    for (int i = 0; i < prefix.length; i++) {
      if (bytes[i] != prefix[i]) {
        return false;
      }
    }
    return true;
  }
}
